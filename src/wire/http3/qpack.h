// QPACK (RFC 9204) over nghttp3's coder: field sections of streams, and the two streams beside
// them.
#pragma once

#include <nghttp3/nghttp3.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "wire/http3/errors.h"
#include "wire/http3/section_scanner.h"

namespace pqedge::http3 {

// Bounds of both directions: bytes of a dynamic table, and streams that may wait for it.
inline constexpr size_t kQpackTableCapacity = 4096;
inline constexpr size_t kQpackBlockedStreams = 100;

// One decoded field line. The views hold during the call that hands it over; those of the static
// table for ever.
struct DecodedField {
  std::string_view name;
  std::string_view value;
  bool name_is_static = false;
  bool value_is_static = false;
  bool never_index = false;
};

class QpackDecoder {
 public:
  // `table_capacity` is what our SETTINGS allow the peer's encoder; 0: it has no dynamic table.
  explicit QpackDecoder(size_t max_streams, size_t table_capacity = kQpackTableCapacity);

  // Bytes of the peer's encoder stream.
  std::expected<void, ConnectionError> read_encoder_stream(Bytes bytes);
  // Entries inserted so far: what blocked sections wait for.
  uint64_t insert_count() const { return nghttp3_qpack_decoder_get_icnt(decoder_.get()); }
  // The stream's section will not be read to its end (RFC 9204 2.2.2.2). False: out of bounds.
  bool cancel(int64_t stream_id);
  // What is to be written on our decoder stream, at most `room` bytes: their number.
  size_t pending() const { return nghttp3_qpack_decoder_get_decoder_streamlen(decoder_.get()); }
  size_t write(MutableBytes room);

 private:
  friend class FieldSection;
  struct Delete {
    void operator()(nghttp3_qpack_decoder* d) const { nghttp3_qpack_decoder_del(d); }
  };
  std::unique_ptr<nghttp3_qpack_decoder, Delete> decoder_;
};

// A field section being decoded as its bytes come.
class FieldSection {
 public:
  enum class Status : uint8_t {
    more,  // all bytes were taken
    done,
    blocked,  // until insert_count() reaches required_insert_count(); `in` holds what is left
    stopped,  // by `take`, or by a string that is too long; the section must be cancelled
    failed    // QPACK_DECOMPRESSION_FAILED
  };

  explicit FieldSection(int64_t stream_id);
  // Calls take(const DecodedField&) for each field; it returns false to stop. `last`: the section
  // ends with these bytes.
  template <typename Take>
  Status decode(QpackDecoder& decoder, Bytes& in, bool last, Take&& take) {
    if (!scan(in)) return Status::stopped;
    for (;;) {
      Field field;
      const Status status = step(decoder, in, last, field);
      if (field.present && !take(field.decoded)) return Status::stopped;
      if (status != Status::more || !field.present) return status;
    }
  }
  uint64_t required_insert_count() const {
    return nghttp3_qpack_stream_context_get_ricnt(context_.get());
  }

 private:
  // Holds the buffers of one decoded field.
  struct Field {
    ~Field();
    nghttp3_qpack_nv nv{};
    DecodedField decoded;
    bool present = false;
  };
  bool scan(Bytes in);
  Status step(QpackDecoder& decoder, Bytes& in, bool last, Field& field);

  struct Delete {
    void operator()(nghttp3_qpack_stream_context* c) const { nghttp3_qpack_stream_context_del(c); }
  };
  std::unique_ptr<nghttp3_qpack_stream_context, Delete> context_;
  SectionScanner scanner_;
  size_t ahead_ = 0;  // bytes that were scanned and not decoded: a section that waits comes again
};

class QpackEncoder {
 public:
  QpackEncoder();
  ~QpackEncoder();
  QpackEncoder(const QpackEncoder&) = delete;
  QpackEncoder& operator=(const QpackEncoder&) = delete;

  // What the peer's SETTINGS allow; ours bound it.
  void allow(uint64_t table_capacity, uint64_t blocked_streams);
  // Encodes a section: prefix() and section() follow one another on the request stream, and
  // encoder_stream() has instructions to be written before. All hold until the next call.
  bool encode(int64_t stream_id, std::span<const nghttp3_nv> fields);
  Bytes prefix() const { return bytes(prefix_); }
  Bytes section() const { return bytes(section_); }
  Bytes encoder_stream() const { return bytes(instructions_); }
  // Bytes of the peer's decoder stream.
  std::expected<void, ConnectionError> read_decoder_stream(Bytes bytes);

 private:
  static Bytes bytes(const nghttp3_buf& b) { return {b.pos, b.last}; }
  nghttp3_qpack_encoder* encoder_ = nullptr;
  nghttp3_buf prefix_;
  nghttp3_buf section_;
  nghttp3_buf instructions_;
};

}  // namespace pqedge::http3
