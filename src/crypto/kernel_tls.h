// Kernel TLS (T18): whether it could be used here. It is not: records are sealed in this process.
#pragma once

#include <string>

namespace pqedge::crypto {

struct KernelTls {
  bool library = false;  // the TLS library was built with it
  bool kernel = false;   // the kernel's "tls" protocol module is built in or loaded
};

// Looks at the running kernel; loads nothing.
KernelTls kernel_tls();
// In a sentence, for logs and `pqedge version`.
std::string describe(const KernelTls& found);

}  // namespace pqedge::crypto
