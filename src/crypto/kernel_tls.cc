#include "crypto/kernel_tls.h"

#include <openssl/configuration.h>

#include <format>
#include <fstream>

namespace pqedge::crypto {

KernelTls kernel_tls() {
  KernelTls found;
#ifndef OPENSSL_NO_KTLS
  found.library = true;
#endif
  // Upper-layer protocols that sockets can be given (Documentation/networking/tls.rst). Asking by
  // setsockopt(TCP_ULP) would make the kernel load the module.
  std::ifstream protocols("/proc/sys/net/ipv4/tcp_available_ulp");
  for (std::string name; protocols >> name;) found.kernel = found.kernel || name == "tls";
  return found;
}

std::string describe(const KernelTls& found) {
  return std::format(
      "kernel TLS is not used: records are sealed in the process (library: {}, "
      "kernel: {})",
      found.library ? "could" : "built without",
      found.kernel ? "could" : "no tls module is loaded");
}

}  // namespace pqedge::crypto
