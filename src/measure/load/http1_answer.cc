#include "measure/load/http1_answer.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace pqedge::measure::load {

namespace {
constexpr size_t kMaxHead = 256 * 1024;
}  // namespace

void Http1Answer::begin(bool has_body) {
  state_ = State::kHead;
  line_.clear();
  left_ = 0;
  status_ = 0;
  has_body_ = has_body;
  closes_ = false;
}

bool Http1Answer::collect(std::span<const uint8_t> bytes, std::string_view end, size_t& taken) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // The end may straddle two reads: search again from just before the seam.
  const size_t before = line_.size();
  const size_t from = before < end.size() ? 0 : before - end.size() + 1;
  line_.append(text);
  const size_t found = line_.find(end, from);
  if (found == std::string::npos) {
    taken = bytes.size();
    if (line_.size() > kMaxHead) state_ = State::kBroken;
    return false;
  }
  line_.resize(found + end.size());
  taken = line_.size() - before;
  return true;
}

size_t Http1Answer::take(std::span<const uint8_t> bytes, std::span<const uint8_t>& body) {
  body = {};
  if (bytes.empty()) return 0;
  size_t taken = 0;
  switch (state_) {
    case State::kHead:
      if (collect(bytes, "\r\n\r\n", taken)) {
        read_head(line_);
        line_.clear();
      }
      return taken;
    case State::kBody:
    case State::kChunk:
      taken = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
      body = bytes.first(taken);
      left_ -= taken;
      if (left_ == 0) state_ = state_ == State::kBody ? State::kDone : State::kChunkEnd;
      return taken;
    case State::kToEnd: body = bytes; return bytes.size();
    case State::kChunkSize:
      if (collect(bytes, "\r\n", taken)) {
        read_chunk_size(line_);
        line_.clear();
      }
      return taken;
    case State::kChunkEnd:
      if (collect(bytes, "\r\n", taken)) {
        state_ = line_.size() == 2 ? State::kChunkSize : State::kBroken;
        line_.clear();
      }
      return taken;
    case State::kTrailers:
      if (collect(bytes, "\r\n", taken)) {
        if (line_.size() == 2) state_ = State::kDone;
        line_.clear();
      }
      return taken;
    case State::kDone:
    case State::kBroken: return 0;
  }
  return 0;
}

void Http1Answer::on_end() {
  if (state_ == State::kToEnd) state_ = State::kDone;
}

void Http1Answer::read_chunk_size(std::string_view line) {
  uint64_t size = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const bool whole = parsed.ec == std::errc() && (*parsed.ptr == '\r' || *parsed.ptr == ';');
  if (!whole) {
    state_ = State::kBroken;
    return;
  }
  left_ = size;
  state_ = size == 0 ? State::kTrailers : State::kChunk;
}

void Http1Answer::read_head(std::string_view head) {
  // "HTTP/1.1 200 ..."
  if (head.size() < 14 || !head.starts_with("HTTP/1.")) {
    state_ = State::kBroken;
    return;
  }
  const auto status = parse_decimal(head.substr(9, 3));
  if (!status || *status < 100) {
    state_ = State::kBroken;
    return;
  }
  if (*status < 200 && *status != 101) return;  // an interim answer: the head of the next follows
  status_ = static_cast<int>(*status);
  closes_ = head[7] == '0';

  bool chunked = false;
  bool has_length = false;
  head.remove_prefix(head.find("\r\n") + 2);
  while (head.size() > 2) {
    const size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      state_ = State::kBroken;
      return;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim_ows(line.substr(colon + 1));
    if (iequals(name, "content-length")) {
      const auto length = parse_decimal(value);
      if (!length || (has_length && *length != left_)) {
        state_ = State::kBroken;
        return;
      }
      has_length = true;
      left_ = *length;
    } else if (iequals(name, "transfer-encoding")) {
      chunked = iequals(value, "chunked");
    } else if (iequals(name, "connection")) {
      for_each_member(value, [&](std::string_view member) { closes_ |= iequals(member, "close"); });
    }
  }

  if (!has_body_ || status_ == 204 || status_ == 304) {
    state_ = State::kDone;
  } else if (chunked) {
    state_ = State::kChunkSize;
  } else if (has_length) {
    state_ = left_ == 0 ? State::kDone : State::kBody;
  } else {
    state_ = State::kToEnd;
    closes_ = true;
  }
}

}  // namespace pqedge::measure::load
