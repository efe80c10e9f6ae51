// A program that we start, wait for and stop by its process ID, and a folder for its files.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pqedge::measure {

// A temporary folder that goes with everything in it.
class Workspace {
 public:
  static Result<Workspace> make();
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace();
  const std::string& path() const { return path_; }
  // The path of the file that was written.
  Result<std::string> write(std::string_view name, std::string_view content) const;

 private:
  explicit Workspace(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class Child {
 public:
  // Output goes to the file `log`. The child ends with this process, whatever ends it.
  static Result<Child> start(const std::vector<std::string>& arguments, const std::string& log);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child() { stop(); }

  bool running();
  // The exit status, or none when it did not end within `seconds`.
  std::optional<int> wait(double seconds);
  void stop();  // SIGTERM, and SIGKILL for it and its children when it does not end

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// The first file of that name in PATH and the folders of system programs.
std::optional<std::string> find_program(std::string_view name);

// What a program prints, on both outputs, within two seconds.
Result<std::string> output_of(const std::vector<std::string>& arguments,
                              const Workspace& workspace);
std::string read_text(const std::string& path);

}  // namespace pqedge::measure
