// pqcost: what post-quantum cryptography costs. The command line, nothing else.
#include <nghttp2/nghttp2.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <openssl/crypto.h>

#include <cstdio>
#include <string_view>

#include "base/version.h"

namespace {

constexpr int kUsageError = 2;

constexpr std::string_view kHelp =
    "pqcost measures the cost of post-quantum cryptography.\n"
    "\n"
    "Usage: pqcost --version | --help\n"
    "\n"
    "  --version   print the version, and those of the libraries in use\n"
    "  --help      print this\n"
    "\n"
    "This build has no measurements.\n";

void print(std::string_view text, std::FILE* to = stdout) {
  std::fwrite(text.data(), 1, text.size(), to);
}

void print_version() {
  print("pqcost ");
  print(pqedge::version());
  print(" (");
  print(pqedge::git_commit());
  print(")\n");
  std::printf("OpenSSL %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
  std::printf("ngtcp2 %s\n", ngtcp2_version(0)->version_str);
  std::printf("nghttp3 %s\n", nghttp3_version(0)->version_str);
  std::printf("nghttp2 %s\n", nghttp2_version(0)->version_str);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    const std::string_view argument = argv[1];
    if (argument == "--version" || argument == "version") {
      print_version();
      return 0;
    }
    if (argument == "--help" || argument == "-h" || argument == "help") {
      print(kHelp);
      return 0;
    }
    std::fprintf(stderr, "pqcost: unknown argument '%s'\n", argv[1]);
  } else if (argc < 2) {
    std::fprintf(stderr, "pqcost: nothing was asked for\n");
  } else {
    std::fprintf(stderr, "pqcost: one argument is taken, %d were given\n", argc - 1);
  }
  std::fprintf(stderr, "Try 'pqcost --help'.\n");
  return kUsageError;
}
