// The folder in which responses survive a restart: one file a certificate, by its fingerprint.
#pragma once

#include <string>
#include <string_view>

namespace pqedge::jobs {

// Empty where no folder is configured.
std::string ocsp_cache_file(const std::string& folder, std::string_view fingerprint);

// Removes responses that nobody wrote for 30 days: of certificates that are gone. Only files that
// are named as ours are.
void remove_old_responses(const std::string& folder);

}  // namespace pqedge::jobs
