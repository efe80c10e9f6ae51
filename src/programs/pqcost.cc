// pqcost: what post-quantum cryptography costs. The command line, nothing else.
#include <nghttp2/nghttp2.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <openssl/crypto.h>

#include <cstdio>
#include <string_view>

#include "base/version.h"
#include "programs/pqcost/commands.h"

namespace {

using pqedge::pqcost::Command;

void print_version() {
  const std::string_view version = pqedge::version();
  const std::string_view commit = pqedge::git_commit();
  std::printf("pqcost %.*s (%.*s)\n", static_cast<int>(version.size()), version.data(),
              static_cast<int>(commit.size()), commit.data());
  std::printf("OpenSSL %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
  std::printf("ngtcp2 %s\n", ngtcp2_version(0)->version_str);
  std::printf("nghttp3 %s\n", nghttp3_version(0)->version_str);
  std::printf("nghttp2 %s\n", nghttp2_version(0)->version_str);
}

void print_help() {
  std::printf(
      "pqcost measures what post-quantum cryptography costs.\n"
      "\n"
      "Usage: pqcost COMMAND [OPTION...]\n"
      "       pqcost --version | --help\n"
      "\n"
      "Commands (each has --help):\n");
  for (const Command& command : pqedge::pqcost::commands()) {
    std::printf("  %-10.*s  %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
                static_cast<int>(command.summary.size()), command.summary.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--version" || first == "version") {
    print_version();
    return 0;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    print_help();
    return 0;
  }
  for (const Command& command : pqedge::pqcost::commands()) {
    if (command.name == first) return command.run(argc - 1, argv + 1);
  }
  if (first.empty()) {
    std::fprintf(stderr, "pqcost: no command was given\n");
  } else {
    std::fprintf(stderr, "pqcost: unknown command '%s'\n", argv[1]);
  }
  std::fprintf(stderr, "Try 'pqcost --help'.\n");
  return pqedge::pqcost::kUsageError;
}
