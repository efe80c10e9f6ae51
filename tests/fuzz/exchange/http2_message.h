// Messages in the HTTP/2 frames that the program wrote, as of message.h. HPACK is nghttp2's.
#pragma once

#include <nghttp2/nghttp2.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/exchange/sections.h"
#include "wire/http2/frame.h"

namespace pqedge::fuzz {

class Http2Reader {
 public:
  // Whole frames alone are looked at: the rest has not been written yet.
  explicit Http2Reader(std::string_view bytes) {
    nghttp2_hd_inflater* made = nullptr;
    if (nghttp2_hd_inflate_new(&made) != 0) std::abort();
    inflater_.reset(made);
    bool first = true;
    while (bytes.size() >= http2::kFrameHeaderSize) {
      const auto head = http2::FrameHeader::parse(reinterpret_cast<const uint8_t*>(bytes.data()));
      if (bytes.size() < http2::kFrameHeaderSize + head.length) break;
      const std::string_view payload = bytes.substr(http2::kFrameHeaderSize, head.length);
      bytes.remove_prefix(http2::kFrameHeaderSize + head.length);
      require(!first || head.type == http2::FrameType::settings, "SETTINGS come first");
      first = false;
      take(head, payload);
    }
  }

  const std::map<uint32_t, StreamRead>& streams() const { return streams_; }

 private:
  void take(const http2::FrameHeader& head, std::string_view payload) {
    using http2::FrameType;
    require(block_of_ == 0 || head.type == FrameType::continuation,
            "nothing is between HEADERS and its CONTINUATION");
    switch (head.type) {
      case FrameType::headers: {
        require(head.stream_id != 0, "HEADERS have a stream");
        require(!streams_[head.stream_id].ended && !streams_[head.stream_id].reset,
                "nothing follows the end of a stream");
        if ((head.flags & http2::flag::kPriority) != 0) payload.remove_prefix(5);
        require((head.flags & http2::flag::kPadded) == 0, "no frame is padded");
        block_of_ = head.stream_id;
        block_ends_ = (head.flags & http2::flag::kEndStream) != 0;
        block_.assign(payload);
        if ((head.flags & http2::flag::kEndHeaders) != 0) end_block();
        break;
      }
      case FrameType::continuation:
        require(block_of_ == head.stream_id && block_of_ != 0, "CONTINUATION goes on with HEADERS");
        block_.append(payload);
        if ((head.flags & http2::flag::kEndHeaders) != 0) end_block();
        break;
      case FrameType::data: {
        StreamRead& s = streams_[head.stream_id];
        require(!s.sections.empty(), "DATA follow HEADERS");
        require(!s.ended && !s.reset, "nothing follows the end of a stream");
        require((head.flags & http2::flag::kPadded) == 0, "no frame is padded");
        s.body.append(payload);
        s.ended = (head.flags & http2::flag::kEndStream) != 0;
        break;
      }
      case FrameType::rst_stream: streams_[head.stream_id].reset = true; break;
      case FrameType::push_promise: require(false, "nothing is pushed"); break;
      default: break;
    }
  }

  void end_block() {
    StreamRead& s = streams_[std::exchange(block_of_, 0u)];
    s.sections.emplace_back();
    s.body_before.push_back(s.body.size());
    s.ended = block_ends_;
    const auto* in = reinterpret_cast<const uint8_t*>(block_.data());
    size_t left = block_.size();
    for (;;) {
      nghttp2_nv nv{};
      int flags = 0;
      const nghttp2_ssize n = nghttp2_hd_inflate_hd3(inflater_.get(), &nv, &flags, in, left, 1);
      require(n >= 0, "a field section can be decoded");
      in += n;
      left -= static_cast<size_t>(n);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        s.sections.back().emplace_back(
            std::string(reinterpret_cast<const char*>(nv.name), nv.namelen),
            std::string(reinterpret_cast<const char*>(nv.value), nv.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_.get());
  }

  struct Delete {
    void operator()(nghttp2_hd_inflater* i) const { nghttp2_hd_inflate_del(i); }
  };
  std::unique_ptr<nghttp2_hd_inflater, Delete> inflater_;
  std::map<uint32_t, StreamRead> streams_;
  uint32_t block_of_ = 0;
  bool block_ends_ = false;
  std::string block_;
};

inline std::vector<Message> read_http2_requests(std::string_view bytes) {
  std::vector<Message> found;
  if (bytes.size() < http2::kPreface.size()) return found;
  require(bytes.starts_with(http2::kPreface), "the preface comes first");
  const Http2Reader reader(bytes.substr(http2::kPreface.size()));
  for (const auto& [id, s] : reader.streams()) {
    if (s.sections.empty()) continue;
    require(id % 2 == 1, "our streams have odd numbers");
    require(s.sections.size() <= 2, "a request has a head, and perhaps trailers");
    Message m;
    m.stream = id;
    take_section(s.sections[0], m);
    require(!m.method.empty(), "a request has a method");
    require(m.count("host") == 0, "its authority is said once");
    m.body = s.body;
    m.complete = s.ended && !s.reset;
    if (s.sections.size() == 2) {
      require(s.ended, "trailers end the stream");
      for (const auto& f : s.sections[1]) m.trailers.push_back(f);
    }
    check_trailers(m);
    check_body_length(m);
    found.push_back(std::move(m));
  }
  return found;
}

inline std::vector<Message> read_http2_answers(std::string_view bytes) {
  std::vector<Message> found;
  const Http2Reader reader(bytes);
  for (const auto& [id, s] : reader.streams()) add_answers(id, s, found);
  return found;
}

}  // namespace pqedge::fuzz
