// What can fail at run time returns Result<T>; the error says what, where and what to do.
#pragma once

#include <cerrno>
#include <expected>
#include <format>
#include <string>
#include <system_error>
#include <utility>

namespace pqedge {

struct Error {
  std::string message;  // for a person: what failed, on what, and what to do
  int code = 0;         // errno where one applies, else 0
};

template <typename T>
using Result = std::expected<T, Error>;

template <typename... Args>
std::unexpected<Error> fail(std::format_string<Args...> f, Args&&... args) {
  return std::unexpected(Error{std::format(f, std::forward<Args>(args)...), 0});
}

// Appends the text of `code` (an errno value) to the message.
template <typename... Args>
std::unexpected<Error> fail_errno(int code, std::format_string<Args...> f, Args&&... args) {
  return std::unexpected(Error{
      std::format(f, std::forward<Args>(args)...) + ": " + std::generic_category().message(code),
      code});
}

}  // namespace pqedge
