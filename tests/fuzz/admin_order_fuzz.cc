// Orders to the admin API: a path, a line end, and a body. Any bytes give an order within bounds,
// or a refusal with a reason.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "admin/orders.h"
#include "base/bytes.h"
#include "upstream/server_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pqedge;
  const std::string_view text = as_text(Bytes(data, size));
  const std::string_view path = text.substr(0, text.find('\n'));
  const std::string_view body = text.substr(std::min(path.size() + 1, text.size()));
  for (const http::Method method : {http::Method::post, http::Method::put, http::Method::get}) {
    const auto order = admin::read_order(method, path, body);
    if (!order) {
      if (order.error().code < 400 || order.error().code > 499) std::abort();
      if (order.error().message.empty()) std::abort();
      continue;
    }
    if (method == http::Method::get || path.find(order->pool) == path.npos) std::abort();
    if (order->weight > upstream::kMaxWeight) std::abort();
    if (order->servers.size() > upstream::kMaxServers) std::abort();
  }
  return 0;
}
