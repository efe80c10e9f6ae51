// The logging façade: any module speaks here; `record` installs the sink that writes.
#pragma once

#include <cstdint>
#include <format>
#include <string_view>

namespace pqedge::log {

enum class Level : uint8_t { debug, info, warning, error };

// Receives one finished line (no newline, no control bytes from clients: use append_text_escaped
// on such values before they come here). Called from any thread; must not block a worker.
using Sink = void (*)(Level, std::string_view component, std::string_view message);

void set_sink(Sink sink);  // before the first worker starts; the default writes to stderr
void set_level(Level least);
bool enabled(Level level);
void write(Level level, std::string_view component, std::string_view message);

template <typename... Args>
void at(Level level, std::string_view component, std::format_string<Args...> f, Args&&... args) {
  if (enabled(level)) write(level, component, std::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
void debug(std::string_view component, std::format_string<Args...> f, Args&&... args) {
  at(Level::debug, component, f, std::forward<Args>(args)...);
}
template <typename... Args>
void info(std::string_view component, std::format_string<Args...> f, Args&&... args) {
  at(Level::info, component, f, std::forward<Args>(args)...);
}
template <typename... Args>
void warning(std::string_view component, std::format_string<Args...> f, Args&&... args) {
  at(Level::warning, component, f, std::forward<Args>(args)...);
}
template <typename... Args>
void error(std::string_view component, std::format_string<Args...> f, Args&&... args) {
  at(Level::error, component, f, std::forward<Args>(args)...);
}

std::string_view name(Level level);

}  // namespace pqedge::log
