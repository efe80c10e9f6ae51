#include "wire/http1/chunked.h"

#include <algorithm>

#include "base/text.h"
#include "http/names.h"

namespace pqedge::http1 {
namespace {

constexpr uint8_t kMaxDigits = 16;  // 64 bits, leading zeros counted

bool is_token_char(char c) { return http::is_token({&c, 1}); }
bool is_space(char c) { return c == ' ' || c == '\t'; }

// qdtext and what may follow a backslash (RFC 9110 5.6.4), but for the two that have a meaning.
bool is_quotable(char c) {
  const auto u = static_cast<uint8_t>(c);
  return u == '\t' || (u >= 0x20 && u != 0x7f);
}

}  // namespace

ChunkedDecoder::Outcome ChunkedDecoder::next(Bytes input, size_t max_data) {
  size_t i = 0;
  for (;;) {
    if (state_ == State::data) {
      const size_t n = std::min({size_t{input.size() - i}, max_data,
                                 static_cast<size_t>(std::min<uint64_t>(left_, SIZE_MAX))});
      if (n == 0) return {Event::need_more, i, 0, {}};
      left_ -= n;
      if (left_ == 0) state_ = State::data_cr;
      return {Event::data, i, n, {}};
    }
    if (state_ == State::done) return {Event::trailers, i, 0, {}};
    if (i == input.size()) return {Event::need_more, i, 0, {}};
    const std::string_view reason = take(static_cast<char>(input[i++]));
    if (!reason.empty()) return {Event::error, i, 0, reason};
  }
}

std::string_view ChunkedDecoder::take(char c) {
  switch (state_) {
    case State::size_first:
    case State::size: return take_size(c);
    case State::size_lf:
      if (c != '\n') return "bare CR in a chunk-size line";
      state_ = left_ == 0 ? State::done : State::data;
      return {};
    case State::data_cr:
      if (c != '\r') return "chunk longer than its size";
      state_ = State::data_lf;
      return {};
    case State::data_lf:
      if (c != '\n') return "chunk without its CRLF";
      state_ = State::size_first;
      return {};
    default: return take_extension(c);
  }
}

std::string_view ChunkedDecoder::take_size(char c) {
  const int digit = hex_value(c);
  if (digit >= 0) {
    if (state_ == State::size_first) {
      state_ = State::size;
      digits_ = 0;
      left_ = 0;
      extension_ = 0;
    }
    if (++digits_ > kMaxDigits) return "chunk size too large";
    left_ = left_ << 4 | static_cast<uint64_t>(digit);
    return {};
  }
  if (state_ == State::size_first) return "chunk without a size";
  if (is_space(c)) {
    state_ = State::space;
    return {};
  }
  if (c == ';') {
    state_ = State::extension;
    return {};
  }
  return end_of_line(c);
}

std::string_view ChunkedDecoder::end_of_line(char c) {
  if (c == '\r') {
    state_ = State::size_lf;
    return {};
  }
  if (c == '\n') return "chunk-size line ends in a bare LF";
  return "invalid byte in a chunk-size line";
}

// chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) (RFC 9112 7.1.1).
// They are read strictly, since a lax reader elsewhere might see a line end in them, and dropped.
std::string_view ChunkedDecoder::take_extension(char c) {
  if (++extension_ > kMaxExtension || ++extensions_ > kMaxExtensions) {
    return "chunk extensions too long";
  }
  switch (state_) {
    case State::space:
      if (c == ';')
        state_ = State::extension;
      else if (!is_space(c))
        return "space after a chunk size";
      return {};
    case State::extension:
      if (is_token_char(c))
        state_ = State::name;
      else if (!is_space(c))
        return "malformed chunk extension";
      return {};
    case State::name:
      if (is_token_char(c)) return {};
      [[fallthrough]];
    case State::name_space:
      if (is_space(c))
        state_ = State::name_space;
      else if (c == '=')
        state_ = State::value_space;
      else if (c == ';')
        state_ = State::extension;
      else if (c == '\r' && state_ == State::name_space)
        return "space at the end of a chunk-size line";
      else
        return end_of_line(c);
      return {};
    case State::value_space:
      if (c == '"')
        state_ = State::quoted;
      else if (is_token_char(c))
        state_ = State::value;
      else if (!is_space(c))
        return "malformed chunk extension";
      return {};
    case State::value:
      if (is_token_char(c)) return {};
      state_ = State::value_end;
      if (c == ';')
        state_ = State::extension;
      else if (is_space(c))
        state_ = State::space;
      else
        return end_of_line(c);
      return {};
    case State::quoted:
      if (c == '"')
        state_ = State::value_end;
      else if (c == '\\')
        state_ = State::quoted_pair;
      else if (!is_quotable(c))
        return "control byte in a chunk extension";
      return {};
    case State::quoted_pair:
      if (!is_quotable(c)) return "control byte in a chunk extension";
      state_ = State::quoted;
      return {};
    default:  // value_end
      if (c == ';')
        state_ = State::extension;
      else if (is_space(c))
        state_ = State::space;
      else
        return end_of_line(c);
      return {};
  }
}

}  // namespace pqedge::http1
