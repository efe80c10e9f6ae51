#include "probe/run.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "probe/hello.h"
#include "probe/questions.h"
#include "probe/quic.h"
#include "probe/sessions.h"

namespace pqedge::probe {
namespace {

using Task = std::function<void()>;

// At most `parallel` at once: each task opens one connection after another.
void run_all(const std::vector<Task>& tasks, unsigned parallel) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) tasks[i]();
  };
  std::vector<std::jthread> threads;
  const size_t count = std::min<size_t>(parallel, tasks.size());
  for (size_t i = 1; i < count; ++i) threads.emplace_back(work);
  work();
}

// The tasks that ask about TLS 1.3 alone.
std::vector<Task> modern_tasks(Dialer& dialer, Report& report) {
  return {
      [&] { ask_groups(dialer, report); },      [&] { ask_signatures(dialer, report); },
      [&] { ask_suites(dialer, report); },      [&] { ask_tolerance(dialer, report); },
      [&] { ask_compression(dialer, report); }, [&] { ask_ech(dialer, report); },
  };
}

}  // namespace

unsigned most_connections(const Options& options) {
  unsigned most = 1 + kVersionConnections + kStaticRsaConnections + kMainConnections +
                  group_connections() + signature_connections() + suite_connections() +
                  kToleranceConnections + kCompressionConnections + kEchConnections +
                  kRetryConnections;
  if (options.starttls == StartTls::none) {
    most += kAlpnConnections + (options.quic ? kQuicConnections : 0);
  }
  return std::min(most, kMaxConnections);
}

Result<net::Address> find_address(const Options& options) {
  const auto addresses = resolve(options);
  if (!addresses) return std::unexpected(addresses.error());
  std::string why;
  for (const net::Address& address : *addresses) {
    const Nanos deadline = monotonic_now() + options.timeout;
    auto socket = net::connect_stream(address);
    int error = socket ? 0 : socket.error().code;
    if (socket) {
      const auto ready = wait_for(socket->get(), POLLOUT, deadline);
      error = ready ? net::socket_error(socket->get()) : ready.error().code;
      if (error == 0) return address;
    }
    why += (why.empty() ? "" : "; ") + address.to_string() + ": " +
           std::generic_category().message(error);
  }
  return fail("{}: no connection: {}", options.host, why.empty() ? "no address" : why);
}

Result<Report> run(const Options& options, const net::Address& address) {
  Dialer dialer(options, address);
  Report report;
  report.host = options.host;
  report.port = port_of(options);
  report.address = address.to_string();
  report.server_name = server_name(options);
  report.ignore_trust = options.ignore_trust;
  if (auto found = ask_main(dialer, report); !found) return std::unexpected(found.error());
  ask_versions(dialer, report);

  const bool http = options.starttls == StartTls::none;
  std::vector<Task> tasks;
  if (report.accepts(kTls13)) tasks = modern_tasks(dialer, report);
  if (report.accepts(kTls12)) tasks.push_back([&] { ask_static_rsa(dialer, report); });
  if (http) tasks.push_back([&] { ask_alpn(dialer, report); });
  if (http && options.quic) tasks.push_back([&] { ask_quic(dialer, report); });
  run_all(tasks, options.parallel);
  if (report.has_ml_kem()) ask_retry(dialer, report);
  report.connections = dialer.used() + 1;  // and the one that found the address
  return report;
}

}  // namespace pqedge::probe
