#include "upstream/connector.h"

#include <utility>

namespace pqedge::upstream {

std::unique_ptr<Connector> make_connector(ConnectOptions options, ConnectorHandler& handler) {
  const bool quic = options.protocol == Protocol::h3 && options.purpose == Purpose::requests;
  return quic ? make_quic_connector(std::move(options), handler)
              : make_tcp_connector(std::move(options), handler);
}

}  // namespace pqedge::upstream
