#include "measure/limits/limits.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

#include "measure/limits/child.h"
#include "measure/limits/client.h"
#include "measure/limits/probes.h"
#include "measure/limits/sink.h"

namespace pqedge::measure {
namespace {

TEST(LimitsWorkspace, GoesWithItsFiles) {
  std::string path;
  {
    const auto workspace = Workspace::make();
    ASSERT_TRUE(workspace.has_value()) << workspace.error().message;
    path = workspace->path();
    const auto file = workspace->write("a", "text");
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(read_text(*file), "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(LimitsChild, RunsAndIsStoppedByItsId) {
  const auto workspace = Workspace::make();
  const auto said = output_of({"/bin/sh", "-c", "echo here; echo there >&2"}, *workspace);
  ASSERT_TRUE(said.has_value()) << said.error().message;
  EXPECT_EQ(*said, "here\nthere\n");
  auto child = Child::start({"/bin/sleep", "600"}, workspace->path() + "/log");
  ASSERT_TRUE(child.has_value());
  EXPECT_TRUE(child->running());
  child->stop();
  EXPECT_FALSE(child->running());
  auto deaf = Child::start({"/bin/sh", "-c", "trap '' TERM; sleep 0.1; exit 7"},
                           workspace->path() + "/log");
  EXPECT_EQ(deaf->wait(5), 7);
}

TEST(LimitsChild, ProgramsAreFound) {
  EXPECT_TRUE(find_program("sh").has_value());
  EXPECT_FALSE(find_program("no-such-program-here").has_value());
}

TEST(LimitsSink, TakesHeadsOfAnySize) {
  const auto sink = Sink::start();
  ASSERT_TRUE(sink.has_value()) << sink.error().message;
  for (const size_t size : {1UZ, 100'000UZ, 200'000UZ}) {
    const auto answer =
        ask((*sink)->address().port(), HttpVersion::http1, bearer_request(std::string(size, 'a')));
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->outcome, "200");
  }
}

TEST(LimitsProbes, SearchStopsAtWhatIsAskedForMost) {
  const auto sink = Sink::start();
  const auto largest =
      find_largest((*sink)->address().port(), HttpVersion::http1, ProbePlace::field, 64, 5000);
  ASSERT_TRUE(largest.has_value()) << largest.error().message;
  EXPECT_EQ(largest->accepted, 5000u);
  EXPECT_FALSE(largest->bounded);
}

TEST(LimitsProbes, HoldRealTokensAndCertificates) {
  const auto probes = make_probes();
  ASSERT_TRUE(probes.has_value()) << probes.error().message;
  const auto bytes = [&](std::string_view what) {
    const auto found = std::ranges::find(*probes, what, &Probe::what);
    return found == probes->end() ? 0 : found->bytes;
  };
  EXPECT_EQ(bytes("ML-DSA-65 bearer token"), 4736u);
  EXPECT_EQ(bytes("two ML-DSA-65 tokens in one Cookie line"), 9472u);
  EXPECT_EQ(bytes("cookie of 4097 bytes"), 4097u);
  EXPECT_NEAR(static_cast<double>(bytes("ML-DSA-87 certificate in Client-Cert (RFC 9440)")),
              7546 * 4.0 / 3, 300);
}

TEST(Limits, NamesAreChecked) {
  Record record;
  const auto unknown = run_limits({.programs = {"Ngnix"}}, record);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("Ngnix"), std::string::npos);
  EXPECT_FALSE(run_limits({.paths = {{"squid", "/x"}}}, record).has_value());
}

TEST(Limits, AProgramThatDoesNotStartIsAbsentWithItsReason) {
  Record record;
  ASSERT_TRUE(run_limits({.programs = {"Node"}, .paths = {{"Node", "/bin/false"}}}, record));
  EXPECT_TRUE(record.limits.empty());
  ASSERT_EQ(record.absent.size(), 1u);
  EXPECT_NE(record.absent[0].reason.find("/bin/false"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::measure
