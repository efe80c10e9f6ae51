#include "measure/provider/pqclean_random.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace pqedge::measure::pqclean {

namespace {

thread_local const RandomSource* fixed_source = nullptr;

void must(int result) {
  if (result != 1) std::abort();  // AES and SHAKE are in every libcrypto
}

}  // namespace

// PQClean's own name for it; its file randombytes.c is not compiled.
extern "C" int PQCLEAN_randombytes(uint8_t* out, size_t length);
extern "C" int PQCLEAN_randombytes(uint8_t* out, size_t length) {
  if (fixed_source) {
    (*fixed_source)({out, length});
    return 0;
  }
  while (length > 0) {
    ssize_t got = getrandom(out, length, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) std::abort();
    out += got;
    length -= static_cast<size_t>(got);
  }
  return 0;
}

FixedRandom::FixedRandom(RandomSource source) : source_(std::move(source)) {
  fixed_source = &source_;
}
FixedRandom::~FixedRandom() { fixed_source = nullptr; }

RandomSource bytes_once(Bytes bytes) {
  return [left = std::vector<uint8_t>(bytes.begin(), bytes.end())](MutableBytes out) mutable {
    size_t count = std::min(out.size(), left.size());
    std::copy_n(left.begin(), count, out.begin());
    std::fill(out.begin() + static_cast<ptrdiff_t>(count), out.end(), uint8_t{0});
    left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(count));
  };
}

NistDrbg::NistDrbg(Bytes entropy) : cipher_(EVP_CIPHER_CTX_new()) { update(entropy); }

NistDrbg::Block NistDrbg::next_block() {
  for (auto byte = counter_.rbegin(); byte != counter_.rend() && ++*byte == 0;) ++byte;
  Block block;
  int length = 0;
  must(EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ecb(), nullptr, key_.data(), nullptr));
  must(EVP_EncryptUpdate(cipher_.get(), block.data(), &length, counter_.data(),
                         static_cast<int>(counter_.size())));
  return block;
}

void NistDrbg::update(Bytes provided) {
  std::array<uint8_t, 48> fresh;
  for (size_t at = 0; at < fresh.size(); at += 16) {
    auto block = next_block();
    std::ranges::copy(block, fresh.begin() + static_cast<ptrdiff_t>(at));
  }
  for (size_t i = 0; i < provided.size(); ++i) fresh[i] ^= provided[i];
  std::copy_n(fresh.begin(), key_.size(), key_.begin());
  std::copy_n(fresh.begin() + 32, counter_.size(), counter_.begin());
}

void NistDrbg::fill(MutableBytes out) {
  while (!out.empty()) {
    auto block = next_block();
    size_t count = std::min(out.size(), block.size());
    std::copy_n(block.begin(), count, out.begin());
    out = out.subspan(count);
  }
  update({});
}

ShakeStream::ShakeStream(Bytes entropy) : digest_(EVP_MD_CTX_new()) {
  const uint8_t domain = 1;
  must(EVP_DigestInit_ex(digest_.get(), EVP_shake256(), nullptr));
  must(EVP_DigestUpdate(digest_.get(), entropy.data(), entropy.size()));
  must(EVP_DigestUpdate(digest_.get(), &domain, 1));
}

void ShakeStream::fill(MutableBytes out) {
  must(EVP_DigestSqueeze(digest_.get(), out.data(), out.size()));
}

}  // namespace pqedge::measure::pqclean
