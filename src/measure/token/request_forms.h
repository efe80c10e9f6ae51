// A token's bytes in each place of an HTTP request. The request is that of request_fields.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "measure/token/request_fields.h"

namespace pqedge::measure {

class RequestForms {
 public:
  explicit RequestForms(uint64_t token) : token_(token) {}

  uint64_t authorization_value() const { return kBearer.size() + token_; }
  uint64_t authorization_line() const {
    return kAuthorization.size() + kColon + authorization_value() + kLineEnd;
  }
  uint64_t cookie_line() const {
    return kCookie.size() + kColon + kCookieName.size() + 1 + token_ + kLineEnd;
  }
  uint64_t cookie_pair() const { return kCookieName.size() + token_; }
  uint64_t target() const { return kRequestPath.size() + kParameter.size() + token_; }
  uint64_t request_line() const { return line_with(target()); }
  // Of HTTP/1.1, with the bearer token.
  uint64_t whole_head() const {
    return line_with(kRequestPath.size()) + other_lines() + authorization_line() + kLineEnd;
  }
  // Of HTTP/2 and 3, with the bearer token: RFC 9113 6.5.2.
  uint64_t field_list() const {
    uint64_t sum = 0;
    for (const auto& [name, value] : kRequestFields) sum += name.size() + value.size() + kEntry;
    return sum + kAuthorization.size() + authorization_value() + kEntry;
  }
  // Names and values of HTTP/1.1 with the target, as llhttp's users count.
  uint64_t names_and_values() const {
    return kRequestPath.size() + kHost.size() + kRequestHost.size() + kAgent.size() +
           kRequestAgent.size() + kAccept.size() + kRequestAccept.size() + kAuthorization.size() +
           authorization_value();
  }

 private:
  static constexpr std::string_view kBearer = "Bearer ";
  static constexpr std::string_view kAuthorization = "Authorization";
  static constexpr std::string_view kCookie = "Cookie";
  static constexpr std::string_view kCookieName = "token";
  static constexpr std::string_view kParameter = "?access_token=";
  static constexpr std::string_view kHost = "Host";
  static constexpr std::string_view kAgent = "User-Agent";
  static constexpr std::string_view kAccept = "Accept";
  static constexpr uint64_t kColon = 2;  // ": "
  static constexpr uint64_t kLineEnd = 2;
  static constexpr uint64_t kEntry = 32;

  static uint64_t line_with(uint64_t target) {
    constexpr std::string_view kAround = "GET  HTTP/1.1";
    return kAround.size() + target + kLineEnd;
  }
  static uint64_t other_lines() {
    return kHost.size() + kRequestHost.size() + kAgent.size() + kRequestAgent.size() +
           kAccept.size() + kRequestAccept.size() + 3 * (kColon + kLineEnd);
  }

  uint64_t token_;
};

}  // namespace pqedge::measure
