#include "measure/host/environment.h"

#include <gnu/libc-version.h>
#include <nghttp2/nghttp2.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <format>
#include <string_view>

#include "base/version.h"
#include "measure/host/facts.h"
#include "measure/host/noise.h"
#include "measure/timing/sampler.h"

namespace pqedge::measure {

namespace {

std::string compiler() {
#if defined(__clang__)
  return std::string("Clang ") + __clang_version__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

// Each makes a library take other code than the CPU's features would have it.
std::vector<std::string> overrides() {
  std::vector<std::string> set;
  for (const char* name :
       {"OPENSSL_ia32cap", "OPENSSL_armcap", "BOTAN_CLEAR_CPUID", "GLIBC_TUNABLES"}) {
    if (const char* value = std::getenv(name)) set.push_back(std::format("{}={}", name, value));
  }
  return set;
}

// The kernel's own clock behind CLOCK_MONOTONIC: its resolution and cost are those of that.
std::string clock_source(const HostFiles& files) {
  const auto kernel =
      files.line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string name = clock_facts().source;
  return kernel ? std::format("{} ({})", name, *kernel) : name;
}

bool plain(char c) {
  constexpr std::string_view kPlain = "-_./:=,+@%";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kPlain.find(c) != std::string_view::npos;
}

std::string quoted(std::string_view word) {
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

std::vector<Library> libraries_of_this_build() {
  return {{"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)},
          {"ngtcp2", ngtcp2_version(0)->version_str},
          {"nghttp3", nghttp3_version(0)->version_str},
          {"nghttp2", nghttp2_version(0)->version_str},
          {"glibc", gnu_get_libc_version()}};
}

std::string rfc3339(Nanos wall) {
  const auto seconds = static_cast<time_t>(wall / kSecond);
  tm utc{};
  gmtime_r(&seconds, &utc);
  return std::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string command_line(std::span<const char* const> arguments) {
  std::string line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (i == 0) word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
    if (i > 0) line += ' ';
    line += quoted(word);
  }
  return line;
}

Environment environment(const EnvironmentRequest& request) {
  Environment e;
  e.date = rfc3339(wall_now());
  e.pqcost_version = version();
  e.commit = git_commit();
  e.compiler = compiler();
  e.compiler_flags = compiler_flags();
  e.command_line = request.command_line;
  e.libraries = libraries_of_this_build();
  for (const Library& library : request.providers) {
    if (!std::ranges::contains(e.libraries, library.name, &Library::name)) {
      e.libraries.push_back(library);
    }
  }
  e.host = host_facts(request.files, request.pinned_core.value_or(0), request.host_name);
  e.host.cpu.overrides = overrides();
  e.pinned_core = request.pinned_core;
  e.clock_source = clock_source(request.files);
  e.clock_resolution_ns = clock_facts().resolution_ns;
  e.clock_overhead_ns = clock_facts().overhead_ns;
  return e;
}

void add_noise(Environment& environment, NoiseMonitor& monitor) {
  environment.noise = monitor.end();
  environment.host.cpu.mhz_before = monitor.mhz_before();
  environment.host.cpu.mhz_after = monitor.mhz_after();
}

}  // namespace pqedge::measure
