// What a client must not do (RFC 9114 8.1), byte by byte.
#include <gtest/gtest.h>
#include <nghttp3/nghttp3.h>

#include <string>

#include "base/text.h"
#include "unit/wire/http3_test_server.h"
#include "unit/wire/quic_test_client.h"

namespace pqedge::wire_test {
namespace {

constexpr uint64_t kFrameUnexpected = 0x105;
constexpr uint64_t kFrameError = 0x106;
constexpr uint64_t kErrorExcessiveLoad = 0x107;
constexpr uint64_t kIdError = 0x108;
constexpr uint64_t kSettingsError = 0x109;
constexpr uint64_t kMissingSettings = 0x10a;
constexpr uint64_t kRequestIncomplete = 0x10d;
constexpr uint64_t kStreamCreationError = 0x103;
constexpr uint64_t kClosedCriticalStream = 0x104;
constexpr uint64_t kQpackDecompressionFailed = 0x200;
constexpr uint64_t kQpackEncoderStreamError = 0x201;
constexpr uint64_t kQpackDecoderStreamError = 0x202;

std::string unhex(std::string_view digits) { return *from_hex(digits); }

// HEADERS of GET https://localhost/ from the static table alone (RFC 9204 A).
const std::string kGet = unhex("01100000d1d7c150096c6f63616c686f7374");
// The same as a POST (static entry 20).
const std::string kPost = unhex("01100000d4d7c150096c6f63616c686f7374");
const std::string kControl = unhex("000400");  // a control stream with empty SETTINGS

class Http3Protocol : public ::testing::Test {
 protected:
  void serve(Http3TestServer::Options options = {}) {
    server_ = std::make_unique<Http3TestServer>(*loop_, std::move(options));
    connect();
  }
  void connect() {
    client_ = std::make_unique<QuicTestClient>(
        *loop_, QuicTestClient::Options{.server = server_->address()});
    ASSERT_TRUE(run([&] { return client_->handshake_done(); }));
  }
  bool run(const std::function<bool()>& done) { return run_until(*loop_, done); }

  int64_t send_request(std::string_view bytes, bool end = true) {
    const int64_t id = client_->open_bidirectional();
    client_->write(id, bytes, end);
    return id;
  }
  int64_t send_unidirectional(std::string_view bytes, bool end = false) {
    const int64_t id = client_->open_unidirectional();
    client_->write(id, bytes, end);
    return id;
  }
  // The application error that the server ends the connection with.
  uint64_t close_code() {
    if (!run([&] { return client_->closed().has_value(); })) return 0;
    EXPECT_TRUE(client_->closed()->application) << client_->closed()->reason;
    return client_->closed()->code;
  }
  // The code that a request stream ends with.
  uint64_t stream_code(int64_t id) {
    if (!run([&] { return client_->stream(id).reset.has_value() || client_->closed(); })) return 0;
    EXPECT_FALSE(client_->closed()) << client_->closed()->reason;
    return client_->stream(id).reset.value_or(0);
  }
  // The server is still there and serves.
  void expect_alive() {
    const int64_t id = send_request(kGet);
    EXPECT_TRUE(run([&] { return client_->stream(id).ended || client_->closed(); }));
    EXPECT_FALSE(client_->closed()) << client_->closed()->reason;
  }

  std::unique_ptr<net::Loop> loop_ = *net::Loop::create();
  std::unique_ptr<Http3TestServer> server_;
  std::unique_ptr<QuicTestClient> client_;
};

// ---- request streams ----------------------------------------------------------------------------

TEST_F(Http3Protocol, APlainRequestIsAnswered) {
  serve();
  expect_alive();
  EXPECT_EQ(server_->exchange(0).request().target, "/");
}

TEST_F(Http3Protocol, FramesThatHaveNoPlaceOnARequestStream) {
  const std::string cases[] = {
      unhex("000161"),        // DATA before HEADERS (4.1)
      unhex("0400"),          // SETTINGS (7.2.4)
      unhex("070100"),        // GOAWAY (7.2.6)
      unhex("0d0100"),        // MAX_PUSH_ID (7.2.7)
      unhex("030100"),        // CANCEL_PUSH (7.2.3)
      unhex("050100"),        // PUSH_PROMISE from a client (7.2.5)
      unhex("800f07000100"),  // PRIORITY_UPDATE (RFC 9218 7.2)
      unhex("0200"),
      unhex("0600"),
      unhex("0800"),
      unhex("0900"),                    // HTTP/2's (7.2.8)
      kGet + unhex("01020000") + kGet,  // HEADERS after the trailers
  };
  serve();
  for (const std::string& bytes : cases) {
    connect();
    send_request(bytes, false);
    EXPECT_EQ(close_code(), kFrameUnexpected) << to_hex(as_bytes(bytes));
  }
}

TEST_F(Http3Protocol, DataAfterTheTrailersHasNoPlace) {
  serve();
  send_request(kPost + unhex("0000") + unhex("01020000") + unhex("000161"), false);
  EXPECT_EQ(close_code(), kFrameUnexpected);
}

TEST_F(Http3Protocol, UnknownFramesAreSkippedAnywhere) {
  serve();
  const std::string unknown = unhex("21") + unhex("03") + "abc";
  const std::string reserved = unhex("c0000007c2d3e4f100");
  const int64_t id = send_request(unknown + kPost + reserved + unhex("000161") + unknown +
                                  unhex("000162") + reserved);
  ASSERT_TRUE(run([&] { return client_->stream(id).ended; }));
  EXPECT_EQ(server_->exchange(0).body, "ab");
}

TEST_F(Http3Protocol, AStreamThatEndsWithinAFrame) {
  const std::string cases[] = {kGet.substr(0, 1), kGet.substr(0, 8), kPost + unhex("000561"),
                               kPost + unhex("00"), kPost + unhex("4021")};
  serve();
  for (const std::string& bytes : cases) {
    connect();
    send_request(bytes);
    EXPECT_EQ(close_code(), kFrameError) << to_hex(as_bytes(bytes));
  }
}

TEST_F(Http3Protocol, AStreamWithoutARequestIsIncomplete) {
  serve();
  EXPECT_EQ(stream_code(send_request("")), kRequestIncomplete);
  EXPECT_EQ(stream_code(send_request(unhex("210161"))), kRequestIncomplete);
  expect_alive();
}

TEST_F(Http3Protocol, AnEmptyHeadersFrameCannotBeDecoded) {
  serve();
  send_request(unhex("0100"));
  EXPECT_EQ(close_code(), kQpackDecompressionFailed);
}

// RFC 9204 2.2.3, 3.2.4: references to what is not in the table.
TEST_F(Http3Protocol, FieldSectionsThatReferToNothing) {
  serve();
  send_request(unhex("01030000ff"));  // a static index cut short
  EXPECT_EQ(close_code(), kQpackDecompressionFailed);
  connect();
  send_request(unhex("0104000080ff"));  // a dynamic entry with a Required Insert Count of 0
  EXPECT_EQ(close_code(), kQpackDecompressionFailed);
  connect();
  send_request(unhex("010500ffffff7f"));
  EXPECT_EQ(close_code(), kQpackDecompressionFailed);
}

TEST_F(Http3Protocol, MalformedHeadsAre400) {
  // Each adds to, or replaces, a field of the plain GET: literal names (RFC 9204 4.5.6).
  const auto literal = [](std::string_view name, std::string_view value) {
    std::string out;
    out += name.size() < 7 ? std::string(1, static_cast<char>(0x20 | name.size()))
                           : unhex("27") + static_cast<char>(name.size() - 7);
    out += name;
    out += static_cast<char>(value.size());
    return out + std::string(value);
  };
  const std::string method = unhex("d1");
  const std::string scheme = unhex("d7");
  const std::string path = unhex("c1");
  const std::string authority = literal(":authority", "localhost");
  const std::string good = method + scheme + path + authority;
  const std::string cases[] = {
      scheme + path + authority,                               // no :method
      method + path + authority,                               // no :scheme
      method + scheme + authority,                             // no :path
      method + scheme + path,                                  // no :authority, no Host (4.3.1)
      good + method,                                           // twice
      method + scheme + authority + literal("x", "y") + path,  // after a regular field (4.3)
      good + literal(":status", "200"),                        // of responses
      good + literal(":protocol", "webtransport"),             // not offered
      good + literal("", "y"),
      good + literal("Upper", "y"),  // 4.2
      good + literal("sp ace", "y"),
      good + literal("x", "a\nb"),  // RFC 9110 5.5
      good + literal("x", std::string_view("a\0b", 3)),
      good + literal("x", " y"),
      good + literal("connection", "close"),  // 4.2
      good + literal("transfer-encoding", "chunked"),
      good + literal("te", "gzip"),
      good + literal("content-length", "+1"),
      good + literal("content-length", "1") + literal("content-length", "2"),
      good + literal("host", "elsewhere"),  // differs from :authority (4.3.1)
      method + scheme + literal(":path", "") + authority,
      method + scheme + literal(":path", "nowhere") + authority,
      method + literal(":scheme", "ftp") + path + authority,
      literal(":method", "G T") + scheme + path + authority,
      literal(":method", "CONNECT") + scheme + path + authority,  // 4.4
      literal(":method", "CONNECT"),
  };
  serve();
  for (size_t i = 0; i < std::size(cases); ++i) {
    const std::string section = unhex("0000") + cases[i];
    std::string frame = unhex("01");
    if (section.size() >= 64) frame += static_cast<char>(0x40);
    frame += static_cast<char>(section.size());
    const int64_t id = send_request(frame + section);
    const auto& stream = client_->stream(id);
    ASSERT_TRUE(run([&] { return stream.ended || stream.reset || client_->closed(); })) << i;
    ASSERT_FALSE(client_->closed()) << i << client_->closed()->reason;
    TestExchange& e = server_->exchange(server_->exchanges() - 1);
    EXPECT_EQ(e.bad_status, 400) << i << " " << e.bad_reason;
    if (!stream.ended) {
      EXPECT_EQ(stream.reset, 0x10eu) << i;  // H3_MESSAGE_ERROR (4.1.2)
    }
    ASSERT_TRUE(run([&] { return e.finished || e.reset; })) << i;
    EXPECT_FALSE(e.reset) << i;
  }
}

TEST_F(Http3Protocol, BodiesThatDoNotFitTheirLengthAre400) {
  // content-length: 2, by name reference (static entry 4).
  const std::string post =
      unhex("0113") + unhex("0000d4d7c150096c6f63616c686f7374") + unhex("540132");
  serve();
  for (const std::string& body :
       {unhex("000161"), unhex("0003616263"), unhex("00016100026262"), unhex("")}) {
    const int64_t id = send_request(post + body);
    ASSERT_TRUE(run([&] { return client_->stream(id).ended || client_->stream(id).reset; }));
    EXPECT_EQ(server_->exchange(server_->exchanges() - 1).bad_status, 400)
        << to_hex(as_bytes(body));
  }
  const int64_t id = send_request(post + unhex("000161") + unhex("000162"));
  ASSERT_TRUE(run([&] { return client_->stream(id).ended; }));
  EXPECT_EQ(server_->exchange(server_->exchanges() - 1).body, "ab");
}

// ---- the control stream -------------------------------------------------------------------------

TEST_F(Http3Protocol, TheControlStreamBeginsWithSettings) {
  const std::string cases[] = {unhex("00070100"), unhex("002100"), unhex("000d0100")};
  serve();
  for (const std::string& bytes : cases) {
    connect();
    send_unidirectional(bytes);
    EXPECT_EQ(close_code(), kMissingSettings) << to_hex(as_bytes(bytes));
  }
}

TEST_F(Http3Protocol, WhatMayNotBeOnTheControlStream) {
  const std::pair<std::string, uint64_t> cases[] = {
      {kControl + unhex("0400"), kFrameUnexpected},    // SETTINGS twice (7.2.4)
      {kControl + unhex("000161"), kFrameUnexpected},  // DATA (7.2.1)
      {kControl + unhex("0100"), kFrameUnexpected},    // HEADERS (7.2.2)
      {kControl + unhex("050100"), kFrameUnexpected},  // PUSH_PROMISE (7.2.5)
      {kControl + unhex("0200"), kFrameUnexpected},    // HTTP/2's (7.2.8)
      {kControl + unhex("030100"), kIdError},          // CANCEL_PUSH of no push (7.2.3)
      {kControl + unhex("0700"), kFrameError},         // GOAWAY without an identifier
      {kControl + unhex("07020000"), kFrameError},
      {kControl + unhex("070104") + unhex("070108"), kIdError},  // it grows (5.2)
      {kControl + unhex("0d0108") + unhex("0d0104"), kIdError},  // MAX_PUSH_ID shrinks (7.2.7)
      {unhex("0004020200"), kSettingsError},                     // a setting of HTTP/2 (7.2.4.1)
      {unhex("000401") + unhex("01"), kFrameError},              // a setting without a value
      {kControl + unhex("800f07000101"), kIdError},        // PRIORITY_UPDATE of a server's stream
      {kControl + unhex("800f07000102"), kIdError},        // of a unidirectional one
      {kControl + unhex("800f070004bffffffc"), kIdError},  // beyond the limit (RFC 9218 7.2)
      {kControl + unhex("800f070000"), kFrameError},
      {kControl + unhex("800f07010100"), kIdError},  // of a push
  };
  serve();
  for (const auto& [bytes, code] : cases) {
    connect();
    send_unidirectional(bytes);
    EXPECT_EQ(close_code(), code) << to_hex(as_bytes(bytes));
  }
}

TEST_F(Http3Protocol, WhatMayBeOnTheControlStream) {
  serve();
  send_unidirectional(kControl + unhex("0d0104") + unhex("070100") + unhex("21024142") +
                      unhex("800f07000800753d312c692c78"));
  expect_alive();
}

TEST_F(Http3Protocol, CriticalStreamsStayOpenAndAreOne) {
  serve();
  send_unidirectional(kControl, true);
  EXPECT_EQ(close_code(), kClosedCriticalStream);
  for (const char* type : {"00", "02", "03"}) {
    connect();
    const std::string bytes = std::string(type) == "00" ? kControl : unhex(type);
    const int64_t id = send_unidirectional(bytes);
    expect_alive();  // so the bytes have come: a reset would drop what is under way
    client_->reset(id, 0x100);
    EXPECT_EQ(close_code(), kClosedCriticalStream) << type;
    connect();
    send_unidirectional(bytes);
    send_unidirectional(bytes);
    EXPECT_EQ(close_code(), kStreamCreationError) << type;
  }
}

TEST_F(Http3Protocol, AClientOpensNoPushStream) {
  serve();
  send_unidirectional(unhex("0100"));
  EXPECT_EQ(close_code(), kStreamCreationError);
}

TEST_F(Http3Protocol, UnknownStreamTypesAreStoppedAndHarmless) {
  serve();
  for (int i = 0; i < 20; ++i) {
    const int64_t id = client_->open_unidirectional();
    ASSERT_GE(id, 0) << "each stream that ended makes room for one";
    client_->write(id, unhex("c0000007c2d3e4f1") + "anything");
    ASSERT_TRUE(run([&] { return client_->stream(id).closed; }));
    EXPECT_EQ(client_->stream(id).closed_with, kStreamCreationError);
  }
  expect_alive();
}

TEST_F(Http3Protocol, ACriticalStreamOfOursMayNotBeStopped) {
  serve();
  ASSERT_TRUE(
      run([&] { return client_->has_stream(3) && client_->stream(3).received.size() > 5; }));
  client_->stop_sending(3, 0x100);
  EXPECT_EQ(close_code(), kClosedCriticalStream);
}

// RFC 9114 6.2.1, 7.2.4: ours begins with SETTINGS, and greases.
TEST_F(Http3Protocol, OurControlStreamBeginsWithSettings) {
  serve();
  ASSERT_TRUE(
      run([&] { return client_->has_stream(3) && client_->stream(3).received.size() > 5; }));
  EXPECT_TRUE(client_->stream(3).received.starts_with(unhex("0004")));
  ASSERT_TRUE(run([&] { return client_->has_stream(7) && client_->has_stream(11); }));
  EXPECT_EQ(client_->stream(7).received, unhex("02"));
  EXPECT_EQ(client_->stream(11).received, unhex("03"));
}

// ---- QPACK --------------------------------------------------------------------------------------

TEST_F(Http3Protocol, QpackStreamsThatAreWrong) {
  serve();
  send_unidirectional(unhex("02") + unhex("3fffffff7f"));  // a capacity beyond what was allowed
  EXPECT_EQ(close_code(), kQpackEncoderStreamError);
  connect();
  send_unidirectional(unhex("03") + unhex("3f7f"));  // Insert Count Increment of what was not sent
  EXPECT_EQ(close_code(), kQpackDecoderStreamError);
}

class QpackClient {
 public:
  QpackClient() {
    nghttp3_qpack_encoder_new(&encoder_, 4096, nghttp3_mem_default());
    nghttp3_qpack_encoder_set_max_dtable_capacity(encoder_, 4096);
    nghttp3_qpack_encoder_set_max_blocked_streams(encoder_, 100);
  }
  ~QpackClient() { nghttp3_qpack_encoder_del(encoder_); }
  // A HEADERS frame; what belongs on the encoder stream is added to `instructions`.
  std::string headers(int64_t id, const std::vector<std::pair<std::string, std::string>>& fields,
                      std::string& instructions) {
    std::vector<nghttp3_nv> nva;
    for (const auto& [n, v] : fields) {
      nva.push_back({reinterpret_cast<const uint8_t*>(n.data()),
                     reinterpret_cast<const uint8_t*>(v.data()), n.size(), v.size(),
                     NGHTTP3_NV_FLAG_TRY_INDEX});
    }
    nghttp3_buf p, r, e;
    nghttp3_buf_init(&p);
    nghttp3_buf_init(&r);
    nghttp3_buf_init(&e);
    EXPECT_EQ(nghttp3_qpack_encoder_encode(encoder_, &p, &r, &e, id, nva.data(), nva.size()), 0);
    const auto text = [](const nghttp3_buf& b) {
      return std::string(reinterpret_cast<char*>(b.pos), nghttp3_buf_len(&b));
    };
    const std::string section = text(p) + text(r);
    instructions += text(e);
    for (nghttp3_buf* b : {&p, &r, &e}) nghttp3_buf_free(b, nghttp3_mem_default());
    return std::string(1, '\x01') + static_cast<char>(0x40 | (section.size() >> 8)) +
           static_cast<char>(section.size() & 0xff) + section;
  }

 private:
  nghttp3_qpack_encoder* encoder_ = nullptr;
};

const std::vector<std::pair<std::string, std::string>> kFields = {
    {":method", "GET"},
    {":scheme", "https"},
    {":authority", "localhost"},
    {":path", "/x"},
    {"x-one", "first one"},
    {"x-two", "second one"},
    {"cookie", "crumb=a-long-enough-one-to-be-indexed"}};

// RFC 9204 2.2.1: the section comes before the entries that it refers to.
TEST_F(Http3Protocol, ASectionWaitsForTheDynamicTable) {
  serve();
  QpackClient qpack;
  std::string instructions;
  const int64_t encoder = send_unidirectional(unhex("02"));
  const int64_t id = client_->open_bidirectional();
  const std::string frame = qpack.headers(id, kFields, instructions);
  ASSERT_FALSE(instructions.empty());
  client_->write(id, frame + unhex("000161"), false);
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  client_->write(id, unhex("000162"), true);
  settle(*loop_);
  EXPECT_FALSE(server_->exchange(0).head);
  client_->write(encoder, instructions);
  ASSERT_TRUE(run([&] { return client_->stream(id).ended || client_->closed(); }));
  EXPECT_EQ(server_->exchange(0).field("x-one"), "first one");
  EXPECT_EQ(server_->exchange(0).body, "ab");
}

TEST_F(Http3Protocol, ABlockedSectionMayBeCancelled) {
  serve();
  QpackClient qpack;
  std::string instructions;
  const int64_t encoder = send_unidirectional(unhex("02"));
  const int64_t id = client_->open_bidirectional();
  client_->write(id, qpack.headers(id, kFields, instructions), false);
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  client_->reset(id, 0x10c);
  ASSERT_TRUE(run([&] { return server_->exchange(0).reset.has_value(); }));
  client_->write(encoder, instructions);
  settle(*loop_);
  expect_alive();
  // Stream Cancellation went out on our decoder stream (RFC 9204 4.4.2): 01, the stream's ID.
  ASSERT_TRUE(run([&] { return client_->stream(11).received.size() >= 2; }));
  EXPECT_EQ(static_cast<uint8_t>(client_->stream(11).received[1]) & 0xc0, 0x40);
}

TEST_F(Http3Protocol, MoreBlockedStreamsThanAllowed) {
  Http3TestServer::Options options;
  options.limits.max_streams = 128;
  serve(std::move(options));
  send_unidirectional(unhex("02"));
  // A Required Insert Count of 1, never satisfied: prefix 0200 (RFC 9204 4.5.1).
  for (int i = 0; i < 101; ++i) send_request(unhex("0103020080"), false);
  EXPECT_EQ(close_code(), kQpackDecompressionFailed);
}

// K29 as QPACK has it: one entry, then thousands of references of one byte.
TEST_F(Http3Protocol, AReferenceBombIsCutOffAt431) {
  Http3TestServer::Options options;
  options.limits.max_fields = 100'000;
  serve(std::move(options));
  // Set Dynamic Table Capacity 4096; insert x: 4000 bytes.
  const int64_t encoder = send_unidirectional(unhex("02") + unhex("3fe11f"));
  client_->write(encoder, unhex("4178") + unhex("7fa11e") + std::string(4000, 'v'));
  settle(*loop_);
  const std::string section = unhex("0200") + std::string(16'000, '\x80');
  const int64_t id = send_request(unhex("01") + unhex("7e82") + section.substr(0, 0x3e82));
  ASSERT_TRUE(run([&] { return client_->stream(id).ended || client_->closed(); }));
  ASSERT_FALSE(client_->closed()) << client_->closed()->reason;
  EXPECT_EQ(server_->exchange(0).bad_status, 431);
  EXPECT_LE(server_->exchange(0).request().fields.raw().size(), 17u);  // 64 KiB / 4033
}

TEST_F(Http3Protocol, CookieCrumbsCountAsFields) {
  serve();
  const std::string section = unhex("0000d1d7c150096c6f63616c686f7374") + std::string(200, '\xc5');
  const int64_t id = send_request(unhex("01") + unhex("40d8") + section);  // static entry 5: cookie
  ASSERT_TRUE(run([&] { return client_->stream(id).ended; }));
  EXPECT_EQ(server_->exchange(0).bad_status, 431);
}

}  // namespace
}  // namespace pqedge::wire_test
