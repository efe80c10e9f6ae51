// The whole page, in one file that loads nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "measure/report/model.h"

namespace pqedge::measure::report {

struct PageOptions {
  std::string title = "What post-quantum cryptography costs";
  std::string made;  // when and by what, for the foot
};

Result<std::string> render_page(const Model& model, const PageOptions& options);

// The source expression of a Content Security Policy for an inline script or style: "'sha256-...'"
// (CSP 3, 2.3.1).
Result<std::string> csp_hash(std::string_view text);

}  // namespace pqedge::measure::report
