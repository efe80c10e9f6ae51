// The request that tokens are counted in: what a plain client sends.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace pqedge::measure {

inline constexpr std::string_view kRequestHost = "api.example";
inline constexpr std::string_view kRequestPath = "/v1/metrics";
inline constexpr std::string_view kRequestAgent = "client/1.0";
inline constexpr std::string_view kRequestAccept = "application/json";

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRequestFields{{
    {":method", "GET"},
    {":scheme", "https"},
    {":authority", kRequestHost},
    {":path", kRequestPath},
    {"user-agent", kRequestAgent},
    {"accept", kRequestAccept},
}};

}  // namespace pqedge::measure
