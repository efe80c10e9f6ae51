#include "wire/http3/qpack.h"

#include <algorithm>
#include <new>

#include "base/memory.h"

namespace pqedge::http3 {
namespace {

std::unexpected<ConnectionError> qpack_error(ErrorCode code, const char* reason) {
  return std::unexpected(ConnectionError{code, reason});
}

// nghttp3 allocates by the rules of base/memory.h. Its objects keep the pointer.
const nghttp3_mem* library_memory() {
  static constexpr nghttp3_mem kMemory = {nullptr, memory::library_malloc, memory::library_free,
                                          memory::library_calloc, memory::library_realloc};
  return &kMemory;
}

// The library's only failure in making its objects.
void check_memory(int status) {
  if (status != 0) throw std::bad_alloc();
}

std::string_view text(const nghttp3_rcbuf* buffer) {
  const nghttp3_vec v = nghttp3_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

}  // namespace

QpackDecoder::QpackDecoder(size_t max_streams, size_t table_capacity) {
  nghttp3_qpack_decoder* made = nullptr;
  const size_t blocked = table_capacity == 0 ? 0 : kQpackBlockedStreams;
  check_memory(nghttp3_qpack_decoder_new(&made, table_capacity, blocked, library_memory()));
  decoder_.reset(made);
  nghttp3_qpack_decoder_set_max_concurrent_streams(made, max_streams);
}

std::expected<void, ConnectionError> QpackDecoder::read_encoder_stream(Bytes bytes) {
  const nghttp3_ssize n =
      nghttp3_qpack_decoder_read_encoder(decoder_.get(), bytes.data(), bytes.size());
  if (n < 0)
    return qpack_error(ErrorCode::qpack_encoder_stream_error, "the QPACK encoder stream is wrong");
  return {};
}

bool QpackDecoder::cancel(int64_t stream_id) {
  return nghttp3_qpack_decoder_cancel_stream(decoder_.get(), stream_id) == 0;
}

size_t QpackDecoder::write(MutableBytes room) {
  const size_t size = pending();
  if (size == 0 || size > room.size()) return 0;
  nghttp3_buf buffer;
  buffer.begin = buffer.pos = buffer.last = room.data();
  buffer.end = room.data() + room.size();
  nghttp3_qpack_decoder_write_decoder(decoder_.get(), &buffer);
  return static_cast<size_t>(buffer.last - buffer.pos);
}

FieldSection::FieldSection(int64_t stream_id) {
  nghttp3_qpack_stream_context* made = nullptr;
  check_memory(nghttp3_qpack_stream_context_new(&made, stream_id, library_memory()));
  context_.reset(made);
}

FieldSection::Field::~Field() {
  if (!present) return;
  nghttp3_rcbuf_decref(nv.name);
  nghttp3_rcbuf_decref(nv.value);
}

bool FieldSection::scan(Bytes in) {
  if (in.size() <= ahead_) return true;
  const Bytes fresh = in.subspan(ahead_);
  ahead_ = in.size();
  return scanner_.scan(fresh);
}

FieldSection::Status FieldSection::step(QpackDecoder& decoder, Bytes& in, bool last, Field& field) {
  uint8_t flags = NGHTTP3_QPACK_DECODE_FLAG_NONE;
  const nghttp3_ssize n =
      nghttp3_qpack_decoder_read_request(decoder.decoder_.get(), context_.get(), &field.nv, &flags,
                                         in.data(), in.size(), last ? 1 : 0);
  if (n == NGHTTP3_ERR_QPACK_HEADER_TOO_LARGE) return Status::stopped;
  if (n < 0) return Status::failed;
  in = in.subspan(static_cast<size_t>(n));
  ahead_ -= static_cast<size_t>(n);
  if ((flags & NGHTTP3_QPACK_DECODE_FLAG_EMIT) != 0) {
    field.present = true;
    field.decoded = {.name = text(field.nv.name),
                     .value = text(field.nv.value),
                     .name_is_static = nghttp3_rcbuf_is_static(field.nv.name) != 0,
                     .value_is_static = nghttp3_rcbuf_is_static(field.nv.value) != 0,
                     .never_index = (field.nv.flags & NGHTTP3_NV_FLAG_NEVER_INDEX) != 0};
  }
  if ((flags & NGHTTP3_QPACK_DECODE_FLAG_BLOCKED) != 0) return Status::blocked;
  if ((flags & NGHTTP3_QPACK_DECODE_FLAG_FINAL) != 0) return Status::done;
  return Status::more;
}

QpackEncoder::QpackEncoder() {
  check_memory(nghttp3_qpack_encoder_new(&encoder_, kQpackTableCapacity, library_memory()));
  nghttp3_buf_init(&prefix_);
  nghttp3_buf_init(&section_);
  nghttp3_buf_init(&instructions_);
}

QpackEncoder::~QpackEncoder() {
  const nghttp3_mem* memory = library_memory();
  nghttp3_buf_free(&prefix_, memory);
  nghttp3_buf_free(&section_, memory);
  nghttp3_buf_free(&instructions_, memory);
  nghttp3_qpack_encoder_del(encoder_);
}

void QpackEncoder::allow(uint64_t table_capacity, uint64_t blocked_streams) {
  nghttp3_qpack_encoder_set_max_dtable_capacity(
      encoder_, static_cast<size_t>(std::min<uint64_t>(table_capacity, kQpackTableCapacity)));
  nghttp3_qpack_encoder_set_max_blocked_streams(
      encoder_, static_cast<size_t>(std::min<uint64_t>(blocked_streams, kQpackBlockedStreams)));
}

bool QpackEncoder::encode(int64_t stream_id, std::span<const nghttp3_nv> fields) {
  nghttp3_buf_reset(&prefix_);
  nghttp3_buf_reset(&section_);
  nghttp3_buf_reset(&instructions_);
  return nghttp3_qpack_encoder_encode(encoder_, &prefix_, &section_, &instructions_, stream_id,
                                      fields.data(), fields.size()) == 0;
}

std::expected<void, ConnectionError> QpackEncoder::read_decoder_stream(Bytes bytes) {
  const nghttp3_ssize n = nghttp3_qpack_encoder_read_decoder(encoder_, bytes.data(), bytes.size());
  if (n < 0)
    return qpack_error(ErrorCode::qpack_decoder_stream_error, "the QPACK decoder stream is wrong");
  return {};
}

}  // namespace pqedge::http3
