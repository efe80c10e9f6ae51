#include "measure/live/handshake.h"

#include <format>

#include "measure/live/quic.h"
#include "measure/live/ssh.h"
#include "measure/live/tls.h"

namespace pqedge::measure::live {

LiveRecord handshake(const Options& options) {
  LiveRecord record;
  const bool v6 = options.host.contains(':');
  record.target = v6 ? std::format("[{}]:{}", options.host, port_of(options))
                     : std::format("{}:{}", options.host, port_of(options));
  record.transport = transport_name(options.transport);
  Result<void> done;
  switch (options.transport) {
    case Transport::kTls: done = tls_handshake(options, record); break;
    case Transport::kQuic: done = quic_handshake(options, record); break;
    case Transport::kSsh: done = ssh_handshake(options, record); break;
  }
  if (!done) record.facts["error"] = done.error().message;
  return record;
}

}  // namespace pqedge::measure::live
