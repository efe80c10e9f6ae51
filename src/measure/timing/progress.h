// Progress of long work, on standard error: a bar with the time left on a terminal, plain lines
// elsewhere. It starts no thread and writes only inside its calls, so that it disturbs no timing:
// call it between the measurements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace pqedge::measure {

class Progress {
 public:
  struct Options {
    bool quiet = false;                           // nothing but note()
    std::optional<bool> terminal;                 // none: ask whether standard error is one
    std::optional<unsigned> columns;              // none: ask the terminal
    Nanos line_interval = 2 * kSecond;            // elsewhere than on a terminal: between two lines
    std::function<void(std::string_view)> write;  // empty: to standard error
    std::function<Nanos()> now = monotonic_now;
  };

  // `total` is the whole work in any unit, seconds expected for one; 0 when it is not known.
  Progress(std::string title, double total);
  Progress(std::string title, double total, Options options);
  ~Progress();  // the bar is cleared
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(std::string_view what);  // this is done now
  void advance(double work);         // so much more of the whole is done
  void set_total(double total);      // it is known better now
  void note(std::string_view line);  // a line that stays, above the bar
  void finish();                     // clears the bar; says how long all took

  // "2 min 05 s", "41 s", "3 h 12 min".
  static std::string duration(double seconds);

 private:
  void draw(bool now);
  void clear();
  std::string bar_line() const;
  std::string plain_line() const;
  std::optional<double> seconds_left() const;
  double seconds() const;

  std::string title_;
  double total_;
  double done_ = 0;
  Options options_;
  bool terminal_;
  bool shown_ = false;
  bool finished_ = false;
  std::string step_;
  Nanos begun_;
  Nanos drawn_ = 0;
};

}  // namespace pqedge::measure
