// The byte counts of an IKEv2 key exchange, each from messages as they are sent.
#include <array>
#include <format>

#include "measure/wire/ike_message.h"
#include "measure/wire/ip_packet.h"

namespace pqedge::measure {

namespace {

constexpr std::string_view kInitSource = "RFC 7296 1.2, 3.3, 3.4, 2.23; RFC 7383 2.3; RFC 7427 4";

// What one side sends.
struct IkeSide {
  bool response;
  Bytes first;  // key exchange data of IKE_SA_INIT
  Bytes additional;
};

WireBytes one_way(const IkeSide& side, size_t bytes) {
  return side.response ? WireBytes{0, bytes} : WireBytes{bytes, 0};
}

std::string_view side_name(const IkeSide& side) { return side.response ? "response" : "request"; }

// IKE_SA_INIT cannot be cut by IKE (RFC 7383 2): beyond the limit, IP cuts it.
void add_init_packets(std::vector<WireDetail>& details, const IkeSide& side, size_t message) {
  for (const PathLimit& limit : kPathLimits) {
    const IpPackets packets = ip_packets(message, limit);
    details.push_back({.name = std::format("IKE_SA_INIT {} in {}{}", side_name(side), limit.name,
                                           packets.count > 1 ? ", cut by IP" : ""),
                       .bytes = one_way(side, packets.bytes),
                       .fragments = packets.count,
                       .source = "RFC 7383 2"});
  }
}

Result<void> add_intermediate(std::vector<WireDetail>& details, const IkeSession& session,
                              const IkeSide& side) {
  for (const PathLimit& limit : kPathLimits) {
    const size_t largest = limit.packet - ip_header(limit) - kUdpHeader;
    const auto messages = ike_intermediate_within(session, side.additional, side.response, largest);
    if (!messages) return std::unexpected(messages.error());
    size_t bytes = 0;
    for (const auto& message : *messages) bytes += ip_packets(message.size(), limit).bytes;
    details.push_back({.name = std::format("IKE_INTERMEDIATE {} in {}{}", side_name(side),
                                           limit.name, messages->size() > 1 ? ", cut by IKE" : ""),
                       .bytes = one_way(side, bytes),
                       .fragments = static_cast<unsigned>(messages->size()),
                       .source = "RFC 7383 2.5, 2.5.1; RFC 5282 3"});
  }
  return {};
}

}  // namespace

Result<WireFigures> ike_figures(uint16_t method, uint16_t additional, const ExchangeKeys& keys) {
  const IkeSession session{0x1f6a8d3c52e90b74, 0x8c35d1e7094fb26a, method, additional};
  const bool kem_alone = keys.classical_client.empty();
  const IkeSide sides[] = {
      {false, kem_alone ? keys.kem_public : ike_key_exchange_data(keys.classical_client, method),
       keys.kem_public},
      {true, kem_alone ? keys.kem_ciphertext : ike_key_exchange_data(keys.classical_server, method),
       keys.kem_ciphertext}};

  WireFigures figures;
  std::array<size_t, 2> data{};
  std::array<size_t, 2> payloads{};
  std::array<size_t, 2> init{};
  std::array<size_t, 2> intermediate{};
  for (const IkeSide& side : sides) {
    const size_t i = side.response ? 1 : 0;
    data[i] = side.first.size();
    payloads[i] = ike_ke_payload(method, side.first, 0).size();
    init[i] = ike_sa_init(session, side.first, side.response).size();
    if (additional == 0) continue;
    data[i] += side.additional.size();
    payloads[i] += ike_ke_payload(additional, side.additional, 0).size();
    const auto message = ike_intermediate(session, side.additional, side.response);
    if (!message) return std::unexpected(message.error());
    intermediate[i] = message->size();
  }

  figures.bytes = {data[0], data[1]};
  figures.details.push_back({.name = "KE payloads, with their headers",
                             .bytes = {payloads[0], payloads[1]},
                             .source = "RFC 7296 3.4"});
  figures.details.push_back({.name = "IKE_SA_INIT messages",
                             .bytes = {init[0], init[1]},
                             .source = std::string(kInitSource)});
  if (additional != 0) {
    figures.details.push_back({.name = "IKE_INTERMEDIATE messages, whole",
                               .bytes = {intermediate[0], intermediate[1]},
                               .source = "RFC 9242 3, RFC 9370 2.2, RFC 5282 3"});
  }
  for (const IkeSide& side : sides) {
    add_init_packets(figures.details, side, init[side.response ? 1 : 0]);
  }
  if (additional == 0) return figures;
  for (const IkeSide& side : sides) {
    if (auto added = add_intermediate(figures.details, session, side); !added) {
      return std::unexpected(added.error());
    }
  }
  return figures;
}

}  // namespace pqedge::measure
