#include "measure/timing/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <format>

namespace pqedge::measure {

namespace {

constexpr Nanos kRedraw = 100 * kMillisecond;
constexpr double kLeastForEstimate = 1;  // seconds: before, the time left is a guess
constexpr unsigned kBarWidth = 24;
constexpr std::string_view kClear = "\r\x1b[K";  // to the line's start, and all of it blank

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

unsigned terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// At most `columns` characters; the bytes that continue one in UTF-8 take no column.
std::string cut(std::string_view text, unsigned columns) {
  size_t end = 0;
  for (unsigned taken = 0; end < text.size(); ++end) {
    const bool continues = (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
    if (!continues && ++taken > columns) break;
  }
  return std::string(text.substr(0, end));
}

}  // namespace

Progress::Progress(std::string title, double total)
    : Progress(std::move(title), total, Options()) {}

Progress::Progress(std::string title, double total, Options options)
    : title_(std::move(title)),
      total_(total),
      options_(std::move(options)),
      terminal_(options_.terminal.value_or(is_terminal())),
      begun_(options_.now()) {
  if (!options_.write) options_.write = to_stderr;
}

Progress::~Progress() { clear(); }

void Progress::step(std::string_view what) {
  // On a terminal at once: the last one drawn stands there as long as this takes.
  const bool new_step = step_ != what;
  step_ = what;
  draw(terminal_ && new_step);
}

void Progress::advance(double work) {
  done_ += work;
  draw(false);
}

void Progress::set_total(double total) { total_ = total; }

void Progress::note(std::string_view line) {
  const bool was_shown = shown_;
  clear();
  options_.write(std::format("{}\n", line));
  if (was_shown) draw(true);
}

void Progress::finish() {
  if (finished_) return;
  clear();
  finished_ = true;
  if (!options_.quiet) {
    options_.write(std::format("{}: done in {}\n", title_, duration(seconds())));
  }
}

double Progress::seconds() const {
  return static_cast<double>(options_.now() - begun_) / static_cast<double>(kSecond);
}

std::optional<double> Progress::seconds_left() const {
  if (total_ <= 0 || done_ <= 0 || seconds() < kLeastForEstimate) return std::nullopt;
  return seconds() * std::max(0.0, total_ - done_) / done_;
}

std::string Progress::plain_line() const {
  std::string line = title_;
  if (total_ > 0) line += std::format(": {:.0f} %", 100 * std::min(1.0, done_ / total_));
  if (const auto left = seconds_left()) line += std::format(", {} left", duration(*left));
  if (!step_.empty()) line += ": " + step_;
  return line;
}

std::string Progress::bar_line() const {
  std::string line = title_;
  if (total_ > 0) {
    const double share = std::min(1.0, done_ / total_);
    const auto full = static_cast<unsigned>(share * kBarWidth);
    line += std::format(" [{:#<{}}{:-<{}}] {:3.0f} %", "", full, "", kBarWidth - full, 100 * share);
  }
  if (const auto left = seconds_left()) line += std::format("  {} left", duration(*left));
  if (!step_.empty()) line += "  " + step_;
  return line;
}

void Progress::draw(bool now) {
  if (options_.quiet || finished_) return;
  const Nanos time = options_.now();
  const Nanos interval = terminal_ ? kRedraw : options_.line_interval;
  if (!now && drawn_ != 0 && time - drawn_ < interval) return;
  drawn_ = std::max<Nanos>(time, 1);
  if (!terminal_) {
    options_.write(plain_line() + "\n");
    return;
  }
  // One column stays free: a full line would wrap on some terminals.
  const unsigned columns = options_.columns.value_or(terminal_columns());
  options_.write(std::string(kClear) + cut(bar_line(), columns - 1));
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  options_.write(kClear);
  shown_ = false;
}

std::string Progress::duration(double seconds) {
  const auto whole = static_cast<long>(std::ceil(std::max(0.0, seconds)));
  if (whole < 60) return std::format("{} s", whole);
  if (whole < 3600) return std::format("{} min {:02} s", whole / 60, whole % 60);
  return std::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace pqedge::measure
