#include "upstream/connector.h"

#include <utility>

namespace pqedge::upstream {

std::unique_ptr<Connector> make_connector(ConnectOptions options, ConnectorHandler& handler) {
  return make_tcp_connector(std::move(options), handler);
}

}  // namespace pqedge::upstream
