#include <nghttp3/nghttp3.h>

#include <array>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "measure/token/field_cost.h"
#include "measure/token/request_fields.h"

namespace pqedge::measure {
namespace {

constexpr size_t kBlockedStreams = 100;

struct Free {
  void operator()(nghttp3_qpack_encoder* e) const { nghttp3_qpack_encoder_del(e); }
  void operator()(nghttp3_qpack_decoder* d) const { nghttp3_qpack_decoder_del(d); }
  void operator()(nghttp3_qpack_stream_context* s) const { nghttp3_qpack_stream_context_del(s); }
};

struct Buffer {
  nghttp3_buf buf{};
  Buffer() { nghttp3_buf_init(&buf); }
  ~Buffer() { nghttp3_buf_free(&buf, nghttp3_mem_default()); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  size_t size() const { return nghttp3_buf_len(&buf); }
};

nghttp3_nv field(std::string_view name, std::string_view value, uint8_t flags) {
  return {as_bytes(name).data(), as_bytes(value).data(), name.size(), value.size(), flags};
}

// An encoder and the decoder that acknowledges it, as a connection has them.
class Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(size_t capacity) {
    auto pair = std::make_unique<Pair>();
    nghttp3_qpack_encoder* encoder = nullptr;
    nghttp3_qpack_decoder* decoder = nullptr;
    const nghttp3_mem* memory = nghttp3_mem_default();
    if (nghttp3_qpack_encoder_new(&encoder, kHeaderTable, memory) != 0)
      return fail("QPACK: no memory");
    pair->encoder_.reset(encoder);
    if (nghttp3_qpack_decoder_new(&decoder, capacity, kBlockedStreams, memory) != 0) {
      return fail("QPACK: no memory");
    }
    pair->decoder_.reset(decoder);
    nghttp3_qpack_encoder_set_max_dtable_capacity(encoder, capacity);
    nghttp3_qpack_encoder_set_max_blocked_streams(encoder, kBlockedStreams);
    return pair;
  }

  // Bytes of the field section and of the encoder stream. The decoder reads both and acknowledges.
  Result<size_t> request(const std::vector<nghttp3_nv>& fields) {
    Buffer prefix, section, stream;
    const int64_t id = 4 * requests_++;
    const int error = nghttp3_qpack_encoder_encode(encoder_.get(), &prefix.buf, &section.buf,
                                                   &stream.buf, id, fields.data(), fields.size());
    if (error != 0) return fail("QPACK: {}", nghttp3_strerror(error));
    if (auto read = decode(id, prefix, section, stream, fields.size()); !read) {
      return std::unexpected(read.error());
    }
    return prefix.size() + section.size() + stream.size();
  }

 private:
  Result<void> decode(int64_t id, const Buffer& prefix, const Buffer& section, const Buffer& stream,
                      size_t expected) {
    if (nghttp3_qpack_decoder_read_encoder(decoder_.get(), stream.buf.pos, stream.size()) < 0) {
      return fail("QPACK: the encoder stream cannot be read back");
    }
    std::vector<uint8_t> block(prefix.buf.pos, prefix.buf.last);
    block.insert(block.end(), section.buf.pos, section.buf.last);
    nghttp3_qpack_stream_context* made = nullptr;
    if (nghttp3_qpack_stream_context_new(&made, id, nghttp3_mem_default()) != 0) {
      return fail("QPACK: no memory");
    }
    const std::unique_ptr<nghttp3_qpack_stream_context, Free> context(made);
    Bytes rest(block);
    size_t seen = 0;
    for (;;) {
      nghttp3_qpack_nv got{};
      uint8_t flags = 0;
      const auto taken = nghttp3_qpack_decoder_read_request(decoder_.get(), made, &got, &flags,
                                                            rest.data(), rest.size(), 1);
      if (taken < 0 || (flags & NGHTTP3_QPACK_DECODE_FLAG_BLOCKED) != 0) {
        return fail("QPACK: a field section cannot be read back");
      }
      rest = rest.subspan(static_cast<size_t>(taken));
      if ((flags & NGHTTP3_QPACK_DECODE_FLAG_EMIT) != 0) {
        ++seen;
        nghttp3_rcbuf_decref(got.name);
        nghttp3_rcbuf_decref(got.value);
      }
      if ((flags & NGHTTP3_QPACK_DECODE_FLAG_FINAL) != 0) break;
    }
    if (seen != expected) return fail("QPACK: {} fields came back of {}", seen, expected);
    return acknowledge();
  }

  Result<void> acknowledge() {
    std::vector<uint8_t> bytes(nghttp3_qpack_decoder_get_decoder_streamlen(decoder_.get()));
    if (bytes.empty()) return {};
    nghttp3_buf to{};
    to.begin = to.pos = to.last = bytes.data();
    to.end = bytes.data() + bytes.size();
    nghttp3_qpack_decoder_write_decoder(decoder_.get(), &to);
    if (nghttp3_qpack_encoder_read_decoder(encoder_.get(), bytes.data(), bytes.size()) < 0) {
      return fail("QPACK: the acknowledgement cannot be read");
    }
    return {};
  }

  std::unique_ptr<nghttp3_qpack_encoder, Free> encoder_;
  std::unique_ptr<nghttp3_qpack_decoder, Free> decoder_;
  int64_t requests_ = 0;
};

}  // namespace

Result<FieldCost> qpack_cost(std::string_view name, std::string_view value, size_t capacity,
                             bool ask) {
  std::vector<nghttp3_nv> without;
  for (const auto& [other, text] : kRequestFields) {
    without.push_back(field(other, text, NGHTTP3_NV_FLAG_NONE));
  }
  std::vector<nghttp3_nv> with = without;
  with.push_back(field(name, value, ask ? NGHTTP3_NV_FLAG_TRY_INDEX : NGHTTP3_NV_FLAG_NONE));
  const auto bare = Pair::make(capacity);
  if (!bare) return std::unexpected(bare.error());
  const auto full = Pair::make(capacity);
  if (!full) return std::unexpected(full.error());
  std::array<size_t, 2> cost{};
  for (size_t& bytes : cost) {
    const auto a = (*bare)->request(without);
    if (!a) return std::unexpected(a.error());
    const auto b = (*full)->request(with);
    if (!b) return std::unexpected(b.error());
    bytes = *b - *a;
  }
  return FieldCost{cost[0], cost[1]};
}

}  // namespace pqedge::measure
