#include "probe/report.h"

#include <algorithm>
#include <format>

#include "probe/hello.h"

namespace pqedge::probe {

bool Report::has_ml_kem() const {
  return std::ranges::any_of(groups, is_ml_kem) || is_ml_kem(default_group);
}

std::string version_label(uint16_t version) {
  switch (version) {
    case kTls13: return "TLSv1.3";
    case kTls12: return "TLSv1.2";
    case kTls11: return "TLSv1.1";
    case kTls10: return "TLSv1.0";
    case kSsl3: return "SSLv3";
    default: return std::format("{:#06x}", version);
  }
}

}  // namespace pqedge::probe
