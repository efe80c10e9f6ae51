#include "crypto/keylog.h"

#include <fcntl.h>

#include <cerrno>

namespace pqedge::crypto {

Result<std::shared_ptr<const KeyLog>> KeyLog::open(std::string_view client,
                                                   const std::string& file) {
  auto address = net::Address::from_ip(client, 0);
  if (!address) return std::unexpected(address.error());
  net::Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, "cannot open the key log {}", file);
  return std::shared_ptr<const KeyLog>(new KeyLog(*address, std::move(fd)));
}

void KeyLog::write(const net::Address& peer, std::string_view line) const {
  if (peer.ip16() != client_.ip16()) return;
  std::string text(line);
  text += '\n';
  // One write of an append-only file: lines of several workers do not mix.
  [[maybe_unused]] const ssize_t n = ::write(fd_.get(), text.data(), text.size());
}

}  // namespace pqedge::crypto
