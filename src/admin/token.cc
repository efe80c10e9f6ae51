#include "admin/token.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "net/socket.h"

namespace pqedge::admin {
namespace {

constexpr size_t kShortest = 16;
constexpr size_t kLongest = 1024;

std::array<uint8_t, 32> digest_of(std::string_view text) {
  std::array<uint8_t, 32> out{};
  unsigned size = out.size();
  if (EVP_Digest(text.data(), text.size(), out.data(), &size, EVP_sha256(), nullptr) != 1) {
    std::abort();  // SHA-256 is always there
  }
  return out;
}

bool is_token(std::string_view text) {
  return text.size() >= kShortest && text.size() <= kLongest &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

Result<Token> Token::load(const std::string& path) {
  const net::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno(errno, "{}", path);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, "{}", path);
  if ((info.st_mode & 077) != 0) {
    return fail("{}: other users can read it (mode {:04o}); chmod 600 it", path,
                info.st_mode & 07777U);
  }
  std::array<char, kLongest + 2> buffer;
  const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
  const int code = errno;
  if (n < 0) return fail_errno(code, "{}", path);
  std::string_view text(buffer.data(), static_cast<size_t>(n));
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  Token token;
  const bool good = is_token(text);
  if (good) token.digest_ = digest_of(text);
  OPENSSL_cleanse(buffer.data(), buffer.size());
  if (!good) {
    return fail(
        "{}: the token is one line of {} to {} characters without spaces; make one with "
        "openssl rand -hex 32",
        path, kShortest, kLongest);
  }
  return token;
}

bool Token::matches(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size() ||
      !iequals(authorization.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  const auto theirs = digest_of(trim_ows(authorization.substr(kScheme.size())));
  return CRYPTO_memcmp(theirs.data(), digest_.data(), digest_.size()) == 0;
}

}  // namespace pqedge::admin
