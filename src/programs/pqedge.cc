// pqedge: the post-quantum edge proxy. The command line, nothing else.
#include <nghttp2/nghttp2.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "base/version.h"
#include "config/insecure_backends.h"
#include "config/load.h"
#include "crypto/kernel_tls.h"
#include "crypto/providers.h"
#include "edge/server.h"
#include "programs/pqedge/allocation.h"
#include "programs/pqedge/ech_keys.h"
#include "programs/pqedge/explain.h"
#include "programs/pqedge/probe.h"
#include "programs/pqedge/serve.h"
#include "programs/pqedge/ticket_keys.h"
#include "programs/pqedge/upgrade.h"
#include "wire/quic/tls_session.h"

namespace {

void print_version() {
  std::printf("pqedge %.*s (%.*s)\n", static_cast<int>(pqedge::version().size()),
              pqedge::version().data(), static_cast<int>(pqedge::git_commit().size()),
              pqedge::git_commit().data());
  std::printf("%s\n", OpenSSL_version(OPENSSL_VERSION));
  std::printf("ngtcp2 %s\n", ngtcp2_version(0)->version_str);
  std::printf("nghttp3 %s\n", nghttp3_version(0)->version_str);
  std::printf("nghttp2 %s\n", nghttp2_version(0)->version_str);
  const auto report = pqedge::crypto::provider_report();
  for (const std::string& line : report.lines) std::printf("%s\n", line.c_str());
  for (const std::string& line : report.alarms) std::printf("%s\n", line.c_str());
  std::printf("%s\n", pqedge::crypto::describe(pqedge::crypto::kernel_tls()).c_str());
}

// Before anything of OpenSSL is fetched: the FIPS provider could not take its place any more.
bool start_crypto(const std::string& config) {
  const auto started = pqedge::crypto::start_providers(pqedge::config::load_providers(config));
  if (!started) {
    std::fprintf(stderr, "pqedge: %s\n", started.error().message.c_str());
    return false;
  }
  // Else the first who needs a key says that it has no algorithm.
  if (RAND_status() == 1) return true;
  std::fprintf(stderr,
               "pqedge: the random generator of OpenSSL has no seed: look at getrandom(2) and "
               "/dev/urandom\n");
  return false;
}

int check(const std::string& file, bool allow_insecure_backends) {
  auto c = pqedge::config::load_file(file);
  if (!c) {
    std::fprintf(stderr, "%s\n", c.error().message.c_str());
    return 1;
  }
  if (auto ok = pqedge::config::check_insecure_backends(*c, allow_insecure_backends); !ok) {
    std::fprintf(stderr, "%s\n", ok.error().message.c_str());
    return 1;
  }
  for (const std::string& w : c->warnings) std::fprintf(stderr, "warning: %s\n", w.c_str());
  if (auto ok = pqedge::edge::Server::check(std::move(c->edge), true); !ok) {
    std::fprintf(stderr, "%s: %s\n", file.c_str(), ok.error().message.c_str());
    return 1;
  }
  std::printf("%s: good\n", file.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  pqedge::start_allocation();
  CLI::App app(
      "pqedge, the post-quantum edge proxy. Without arguments it serves a demonstration on "
      "https://localhost:8443.",
      "pqedge");
  app.require_subcommand(0, 1);
  pqedge::ServeOptions options;
  bool version = false;
  app.add_option("-c,--config", options.config, "The configuration file (TOML).");
  auto* client =
      app.add_option("--debug-client", options.debug_client,
                     "Only for this client IP: write the files of the next two options.");
  app.add_option("--keylog", options.keylog_file, "TLS secrets in SSLKEYLOGFILE form.")
      ->needs(client);
  app.add_option("--qlog", options.qlog_dir, "A directory for qlog files of QUIC connections.")
      ->needs(client);
  constexpr const char* kInsecure =
      "Permit pools that do not verify their servers (tls_verify = false).";
  app.add_flag("--allow-insecure-backends", options.allow_insecure_backends, kInsecure);
  app.add_flag("-V,--version", version, "Print versions and end.");

  std::string file;
  auto* check_command = app.add_subcommand("check", "Check a configuration without starting.");
  check_command->add_option("FILE", file, "The configuration file.")->required();
  check_command->add_flag("--allow-insecure-backends", options.allow_insecure_backends, kInsecure);
  pqedge::EchKeysCommand ech_keys(app);
  pqedge::TicketKeysCommand ticket_keys(app);
  auto* version_command = app.add_subcommand("version", "Print versions and end.");
  auto* example_command = app.add_subcommand("example-config", "Print a commented configuration.");

  pqedge::ExplainOptions explained;
  auto* explain_command =
      app.add_subcommand("explain", "Say which route takes a request, and why no other does.");
  explain_command->add_option("-c,--config", explained.config, "The configuration file.");
  explain_command->add_option("METHOD", explained.method, "As in GET.")->required();
  explain_command->add_option("URL", explained.url, "As in https://www.example.com/path.")
      ->required();
  explain_command->add_option("-H,--header", explained.fields,
                              "A field, 'Name: value'; repeatable.");
  explain_command->add_option("--client", explained.client, "The client's IP address.")
      ->capture_default_str();

  pqedge::ProbeCommand probe;
  pqedge::declare_probe(app, probe);

  CLI11_PARSE(app, argc, argv);
  if (const auto status = ech_keys.run()) return *status;
  if (const auto status = ticket_keys.run()) return *status;
  if (!start_crypto(*check_command ? file : options.config)) return 1;
  if (const auto ready = pqedge::quic::initialise_tls(); !ready) {
    std::fprintf(stderr, "pqedge: %s\n", ready.error().message.c_str());
    return 1;
  }
  if (version || *version_command) {
    print_version();
    return 0;
  }
  if (*example_command) {
    const std::string_view text = pqedge::config::example_config();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  if (*check_command) return check(file, options.allow_insecure_backends);
  if (*explain_command) return pqedge::explain(explained);
  if (*probe.app) return pqedge::run_probe(probe);
  options.command = pqedge::own_command(argc, argv);
  return pqedge::serve(options);
}
