// The files in which a host describes itself: /proc, /sys, /etc. A test gives another root, a
// folder that holds the same paths as read on another machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace pqedge::measure {

class HostFiles {
 public:
  HostFiles() : root_("/") {}
  explicit HostFiles(std::filesystem::path root) : root_(std::move(root)) {}

  // Whether these are the files of the machine this runs on, so that asking the kernel or the CPU
  // itself answers for the same machine.
  bool live() const { return root_ == "/"; }

  // The whole file; none when it cannot be read. `path` begins with '/'.
  std::optional<std::string> text(std::string_view path) const;
  // Its first line without blanks at either end (and without the NUL that ends the device tree's
  // strings); none when there is no file or the line is empty.
  std::optional<std::string> line(std::string_view path) const;
  std::optional<double> number(std::string_view path) const;
  bool exists(std::string_view path) const;

 private:
  std::filesystem::path at(std::string_view path) const;
  std::filesystem::path root_;
};

}  // namespace pqedge::measure
