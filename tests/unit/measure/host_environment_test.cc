#include "measure/host/environment.h"

#include <gtest/gtest.h>

#include <openssl/crypto.h>
#include <openssl/opensslv.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/version.h"
#include "measure/host/noise.h"
#include "unit/measure/host_fixture.h"

namespace pqedge::measure {
namespace {

TEST(HostEnvironment, OfThisBuild) {
  const Environment e = environment({.command_line = "pqcost run tls",
                                     .pinned_core = 1,
                                     .providers = {{"Botan", "3.7.1"}, {"OpenSSL", "twice"}}});
  EXPECT_EQ(e.pqcost_version, version());
  EXPECT_EQ(e.commit, git_commit());
  EXPECT_NE(e.compiler.find('.'), std::string::npos);
  EXPECT_NE(e.compiler_flags.find("-O"), std::string::npos);
  EXPECT_NE(e.compiler_flags.find("-std=c++23"), std::string::npos);
  EXPECT_EQ(e.command_line, "pqcost run tls");
  EXPECT_EQ(e.pinned_core, 1);
  EXPECT_TRUE(e.clock_source.starts_with("CLOCK_MONOTONIC")) << e.clock_source;
  EXPECT_GT(e.clock_resolution_ns, 0);
  EXPECT_GE(e.clock_overhead_ns, 0);
  EXPECT_FALSE(e.network);
  EXPECT_EQ(std::ranges::count(e.libraries, "OpenSSL", &Library::name), 1);
  const auto openssl = std::ranges::find(e.libraries, "OpenSSL", &Library::name);
  EXPECT_EQ(openssl->version, OpenSSL_version(OPENSSL_VERSION_STRING));
  EXPECT_EQ(std::ranges::count(e.libraries, "Botan", &Library::name), 1);
}

TEST(HostEnvironment, OfAnotherHost) {
  auto files = bare_amd();
  files["/sys/devices/system/clocksource/clocksource0/current_clocksource"] = "tsc\n";
  const FixtureHost fixture(files);
  const Environment e =
      environment({.host_name = "bench", .pinned_core = 3, .files = fixture.files()});
  EXPECT_EQ(e.host.name, "bench");
  EXPECT_EQ(e.host.cpu.model, "AMD EPYC 9354P 32-Core Processor");
  EXPECT_EQ(e.clock_source, "CLOCK_MONOTONIC (tsc)");
}

TEST(HostEnvironment, VariablesThatChangeTheCode) {
  EXPECT_TRUE(environment({}).host.cpu.overrides.empty());
  setenv("OPENSSL_ia32cap", "~0x200000200000000", 1);
  const auto overrides = environment({}).host.cpu.overrides;
  unsetenv("OPENSSL_ia32cap");
  EXPECT_EQ(overrides, std::vector<std::string>{"OPENSSL_ia32cap=~0x200000200000000"});
}

TEST(HostEnvironment, NoiseAndFrequenciesArePutIn) {
  const FixtureHost fixture(bare_amd());
  NoiseMonitor monitor =
      NoiseMonitor::begin(3, {.files = fixture.files(), .reference = [] { return 400.0; }});
  Environment e;
  add_noise(e, monitor);
  EXPECT_EQ(e.host.cpu.mhz_before, 1503.5);
  EXPECT_EQ(e.host.cpu.mhz_after, 1503.5);
  EXPECT_EQ(e.noise.reference_us, 400);
  EXPECT_FALSE(e.noise.unknown.empty());
}

// RFC 3339, 5.8: 1996-12-20T00:39:57Z; and the day that ends a leap year's February.
TEST(HostEnvironment, Dates) {
  EXPECT_EQ(rfc3339(851042397 * kSecond), "1996-12-20T00:39:57Z");
  EXPECT_EQ(rfc3339(951782400 * kSecond + 999'999'999), "2000-02-29T00:00:00Z");
}

TEST(HostEnvironment, CommandLinesCanBeTakenAgain) {
  const std::array plain{"/usr/bin/pqcost", "run", "tls", "--repeat=7"};
  EXPECT_EQ(command_line(plain), "pqcost run tls --repeat=7");
  const std::array odd{"pqcost", "run", "--host-name", "my host", "it's", "", "$HOME"};
  EXPECT_EQ(command_line(odd), "pqcost run --host-name 'my host' 'it'\\''s' '' '$HOME'");
}

}  // namespace
}  // namespace pqedge::measure
