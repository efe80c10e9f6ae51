#include <nghttp2/nghttp2.h>

#include <array>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "measure/token/field_cost.h"
#include "measure/token/request_fields.h"

namespace pqedge::measure {
namespace {

constexpr std::string_view kAuthorization = "authorization";
constexpr size_t kEntryOverhead = 32;  // RFC 7541 4.1

struct Free {
  void operator()(nghttp2_hd_deflater* d) const { nghttp2_hd_deflate_del(d); }
  void operator()(nghttp2_hd_inflater* i) const { nghttp2_hd_inflate_del(i); }
};
using Deflater = std::unique_ptr<nghttp2_hd_deflater, Free>;
using Inflater = std::unique_ptr<nghttp2_hd_inflater, Free>;

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {const_cast<uint8_t*>(as_bytes(name).data()), const_cast<uint8_t*>(as_bytes(value).data()),
          name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

Deflater new_deflater() {
  nghttp2_hd_deflater* made = nullptr;
  nghttp2_hd_deflate_new(&made, kHeaderTable);
  return Deflater(made);
}

Result<std::vector<uint8_t>> deflate(nghttp2_hd_deflater* deflater,
                                     const std::vector<nghttp2_nv>& fields) {
  std::vector<uint8_t> out(nghttp2_hd_deflate_bound(deflater, fields.data(), fields.size()));
  const auto size =
      nghttp2_hd_deflate_hd2(deflater, out.data(), out.size(), fields.data(), fields.size());
  if (size < 0) return fail("HPACK: {}", nghttp2_strerror(static_cast<int>(size)));
  out.resize(static_cast<size_t>(size));
  return out;
}

// Whether a block is exactly one `authorization` field with this value.
bool reads_as(nghttp2_hd_inflater* inflater, const std::vector<uint8_t>& block,
              std::string_view value) {
  Bytes rest(block);
  bool seen = false;
  for (;;) {
    nghttp2_nv got{};
    int flags = 0;
    const auto taken = nghttp2_hd_inflate_hd3(inflater, &got, &flags, rest.data(), rest.size(), 1);
    if (taken < 0) return false;
    rest = rest.subspan(static_cast<size_t>(taken));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      if (seen || as_text({got.name, got.namelen}) != kAuthorization ||
          as_text({got.value, got.valuelen}) != value) {
        return false;
      }
      seen = true;
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && rest.empty()) return false;
  }
  nghttp2_hd_inflate_end_headers(inflater);
  return seen;
}

}  // namespace

Result<FieldCost> hpack_cost(std::string_view name, std::string_view value) {
  std::vector<nghttp2_nv> without;
  for (const auto& [other, text] : kRequestFields) without.push_back(field(other, text));
  std::vector<nghttp2_nv> with = without;
  with.push_back(field(name, value));
  const Deflater bare = new_deflater();
  const Deflater full = new_deflater();
  if (bare == nullptr || full == nullptr) return fail("HPACK: out of memory");
  std::array<size_t, 2> cost{};
  for (size_t& bytes : cost) {
    const auto a = deflate(bare.get(), without);
    if (!a) return std::unexpected(a.error());
    const auto b = deflate(full.get(), with);
    if (!b) return std::unexpected(b.error());
    bytes = b->size() - a->size();
  }
  return FieldCost{cost[0], cost[1]};
}

Result<FieldCost> hpack_cost_if_indexed(std::string_view authorization) {
  const Deflater deflater = new_deflater();
  nghttp2_hd_inflater* made = nullptr;
  nghttp2_hd_inflate_new(&made);
  const Inflater inflater(made);
  if (deflater == nullptr || inflater == nullptr) return fail("HPACK: out of memory");
  // nghttp2 writes a literal that is never indexed, with the name from the static table, entry 23:
  // two bytes (RFC 7541 6.2.3), then the value, which is the same in every representation.
  const auto literal = deflate(deflater.get(), {field(kAuthorization, authorization)});
  if (!literal) return std::unexpected(literal.error());
  if (literal->size() < 2 || (*literal)[0] != 0x1f || (*literal)[1] != 23 - 15) {
    return fail("nghttp2 encodes 'authorization' in a way that is not known here");
  }
  if (kAuthorization.size() + authorization.size() + kEntryOverhead > kHeaderTable) {
    return FieldCost{literal->size(), literal->size()};  // it would only empty the table (4.4)
  }
  std::vector<uint8_t> first = {0x40 | 23};  // literal with incremental indexing (6.2.1)
  first.insert(first.end(), literal->begin() + 2, literal->end());
  const std::vector<uint8_t> second = {0x80 | 62};  // the newest entry of the table (6.1)
  if (!reads_as(inflater.get(), first, authorization) ||
      !reads_as(inflater.get(), second, authorization)) {
    return fail("nghttp2 does not read an indexed 'authorization' back");
  }
  return FieldCost{first.size(), second.size()};
}

}  // namespace pqedge::measure
