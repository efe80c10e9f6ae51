#include "wire/http2/owned_trailers.h"

#include "wire/http2/response_fields.h"

namespace pqedge::http2 {
namespace {

std::string owned_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// nghttp2 takes what it does not change through pointers to what it could.
uint8_t* lent_text(const std::string& text) {
  return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
}

}  // namespace

std::unique_ptr<OwnedTrailers> OwnedTrailers::of(const http::Fields* fields) {
  if (fields == nullptr || fields->empty()) return nullptr;
  const auto block = FieldBlock::of_thread().trailers(*fields);
  if (block.empty()) return nullptr;
  auto owned = std::make_unique<OwnedTrailers>();
  owned->fields_.reserve(block.size());
  for (const nghttp2_nv& f : block) {
    owned->fields_.push_back({owned_text(f.name, f.namelen), owned_text(f.value, f.valuelen),
                              static_cast<uint8_t>(f.flags & NGHTTP2_NV_FLAG_NO_INDEX)});
  }
  return owned;
}

void OwnedTrailers::submit(nghttp2_session* session, int32_t stream_id) const {
  std::vector<nghttp2_nv> block;
  block.reserve(fields_.size());
  for (const Field& f : fields_) {
    block.push_back(
        {lent_text(f.name), lent_text(f.value), f.name.size(), f.value.size(), f.flags});
  }
  nghttp2_submit_trailer(session, stream_id, block.data(), block.size());
}

}  // namespace pqedge::http2
