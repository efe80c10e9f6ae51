// Lists of servers and answers of gRPC health checks: any bytes are refused with a reason, or what
// comes of them is within bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "jobs/health_check.h"
#include "upstream/server_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pqedge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = upstream::parse_server_list(text);
  if (!list && list.error().message.empty()) std::abort();
  if (list) {
    if (list->size() > upstream::kMaxServers) std::abort();
    for (const upstream::ServerSettings& s : *list) {
      if (s.weight > upstream::kMaxWeight || s.priority > upstream::kMaxPriority) std::abort();
      if (!upstream::check_server_address(s.address)) std::abort();
    }
  }
  const auto one = upstream::parse_server(text);
  if (!one && one.error().message.empty()) std::abort();
  const auto serving = jobs::read_grpc_health(text);
  if (!serving && serving.error().message.empty()) std::abort();
  return 0;
}
