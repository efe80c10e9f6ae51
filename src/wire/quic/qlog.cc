#include "wire/quic/qlog.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "base/log.h"
#include "base/text.h"

namespace pqedge::quic {

std::unique_ptr<Qlog> Qlog::open(const std::string& directory, Bytes connection_id) {
  const std::string path = directory + "/" + to_hex(connection_id) + ".sqlog";
  net::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) {
    log::warning("quic", "cannot write {}: {}", path, std::generic_category().message(errno));
    return nullptr;
  }
  return std::unique_ptr<Qlog>(new Qlog(std::move(fd)));
}

void Qlog::write(Bytes bytes) {
  if (!fd_ || ::write(fd_.get(), bytes.data(), bytes.size()) >= 0) return;
  log::warning("quic", "qlog ends early: {}", std::generic_category().message(errno));
  fd_.reset();
}

}  // namespace pqedge::quic
