// The search for strings that are too long in HPACK blocks: however a block is cut, it stops at the
// same byte; and a block that nghttp2 decodes whole is never stopped.
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <cstdlib>

#include "wire/http2/hpack_strings.h"

namespace {

using pqedge::Bytes;
using pqedge::http2::HpackStrings;

size_t passed(Bytes block, size_t piece, bool& path) {
  HpackStrings strings;
  strings.begin();
  size_t total = 0;
  while (!block.empty()) {
    const Bytes part = block.first(piece < block.size() ? piece : block.size());
    const size_t n = strings.pass(part);
    if (n > part.size()) std::abort();
    total += n;
    if (n < part.size()) break;
    block = block.subspan(n);
  }
  path = strings.at_path();
  return total;
}

bool nghttp2_decodes(Bytes block) {
  nghttp2_hd_inflater* inflater = nullptr;
  if (nghttp2_hd_inflate_new(&inflater) != 0) std::abort();
  bool good = true;
  for (;;) {
    nghttp2_nv field{};
    int flags = 0;
    const nghttp2_ssize n =
        nghttp2_hd_inflate_hd3(inflater, &field, &flags, block.data(), block.size(), 1);
    good = n >= 0;
    if (!good || (flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    block = block.subspan(static_cast<size_t>(n));
  }
  nghttp2_hd_inflate_del(inflater);
  return good;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes block(data, size);
  bool path = false;
  bool path_cut = false;
  const size_t whole = passed(block, SIZE_MAX, path);
  for (const size_t piece : {size_t{1}, size_t{5}}) {
    if (passed(block, piece, path_cut) != whole || path_cut != path) std::abort();
  }
  if (whole < size && nghttp2_decodes(block)) std::abort();
  return 0;
}
