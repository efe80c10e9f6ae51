#include "http/stream.h"

namespace pqedge::http {

std::string_view abort_name(Abort why) {
  switch (why) {
    case Abort::none: return "none";
    case Abort::cancelled: return "cancelled";
    case Abort::connection_lost: return "connection lost";
    case Abort::protocol_error: return "protocol error";
    case Abort::refused: return "refused";
    case Abort::timed_out: return "timed out";
    case Abort::too_large: return "too large";
    case Abort::internal_error: return "internal error";
    case Abort::flood: return "flood";
  }
  return {};
}

}  // namespace pqedge::http
