#include "measure/timing/progress.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pqedge::measure {
namespace {

struct Screen {
  Nanos time = 10 * kSecond;
  std::vector<std::string> written;

  Progress::Options options(bool terminal) {
    return {.terminal = terminal,
            .columns = 79,
            .write = [this](std::string_view text) { written.emplace_back(text); },
            .now = [this] { return time; }};
  }
};

TEST(TimingProgress, LinesElsewhereThanOnATerminal) {
  Screen screen;
  Progress progress("tls", 200, screen.options(false));
  progress.step("X25519 keygen");
  screen.time += kSecond;
  progress.advance(10);  // a second after the first line: too soon
  screen.time += 9 * kSecond;
  progress.advance(40);
  progress.step("ML-KEM-768 keygen");
  screen.time += 30 * kSecond;
  progress.advance(150);
  progress.finish();
  EXPECT_EQ(screen.written, (std::vector<std::string>{
                                "tls: 0 %: X25519 keygen\n",
                                "tls: 25 %, 30 s left: X25519 keygen\n",
                                "tls: 100 %, 0 s left: ML-KEM-768 keygen\n",
                                "tls: done in 40 s\n",
                            }));
}

TEST(TimingProgress, BarOnATerminal) {
  Screen screen;
  Progress progress("tls", 100, screen.options(true));
  progress.step("X25519 keygen");
  screen.time += 100 * kSecond;
  progress.advance(50);
  progress.step("ML-KEM-768 keygen");  // at once, though just drawn
  progress.finish();
  EXPECT_EQ(screen.written,
            (std::vector<std::string>{
                "\r\x1b[Ktls [------------------------]   0 %  X25519 keygen",
                "\r\x1b[Ktls [############------------]  50 %  1 min 40 s left  X25519 keygen",
                "\r\x1b[Ktls [############------------]  50 %  1 min 40 s left  ML-KEM-768 keygen",
                "\r\x1b[K",
                "tls: done in 1 min 40 s\n",
            }));
}

TEST(TimingProgress, ANarrowTerminalIsNotOverrun) {
  Screen screen;
  auto options = screen.options(true);
  options.columns = 20;
  Progress progress("ta\xc3\xbct", 0, options);
  progress.step("abcdefghijklmnopqrstuvwxyz");
  ASSERT_EQ(screen.written.size(), 1u);
  EXPECT_EQ(screen.written[0], "\r\x1b[Kta\xc3\xbct  abcdefghijklm");  // 19 characters
}

TEST(TimingProgress, NotesStayAboveTheBar) {
  Screen screen;
  Progress progress("run", 0, screen.options(true));
  progress.step("a");
  progress.note("withheld");
  EXPECT_EQ(screen.written, (std::vector<std::string>{"\r\x1b[Krun  a", "\r\x1b[K", "withheld\n",
                                                      "\r\x1b[Krun  a"}));
}

TEST(TimingProgress, QuietSaysOnlyNotes) {
  Screen screen;
  auto options = screen.options(true);
  options.quiet = true;
  {
    Progress progress("run", 10, options);
    progress.step("a");
    progress.advance(5);
    progress.note("withheld");
    progress.finish();
  }
  EXPECT_EQ(screen.written, std::vector<std::string>{"withheld\n"});
}

TEST(TimingProgress, TheBarIsGoneWhenTheWorkIsLeft) {
  Screen screen;
  {
    Progress("run", 0, screen.options(true)).step("a");
  }
  EXPECT_EQ(screen.written.back(), "\r\x1b[K");
}

TEST(TimingProgress, Durations) {
  EXPECT_EQ(Progress::duration(0), "0 s");
  EXPECT_EQ(Progress::duration(0.2), "1 s");
  EXPECT_EQ(Progress::duration(41), "41 s");
  EXPECT_EQ(Progress::duration(125), "2 min 05 s");
  EXPECT_EQ(Progress::duration(3 * 3600 + 12 * 60 + 5), "3 h 12 min");
}

}  // namespace
}  // namespace pqedge::measure
