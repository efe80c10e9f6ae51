#include "measure/link/middlebox.h"

namespace pqedge::measure::link {

namespace {

// The length of the record, header included, when a TLS record with a ClientHello begins here. Four
// bytes of the record's five may be missing: then it is at least longer than what there is.
std::optional<size_t> hello_record(Bytes payload) {
  if (payload.empty() || payload[0] != 22) return std::nullopt;
  if (payload.size() < 6) return size_t{6};
  if (payload[1] != 3 || payload[5] != 1) return std::nullopt;
  return size_t{5} + load_be16(&payload[3]);
}

// Sequence numbers wrap around (RFC 9293 3.4).
bool before(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

}  // namespace

HelloWatcher::Flow& HelloWatcher::flow_of(Bytes packet, const Tcp& tcp) {
  const Key key{load_be64(&packet[12]), tcp.ports};
  // Forgetting all at once is crude, but a flow that is forgotten is only looked at anew.
  if (flows_.size() >= kMaxFlows && !flows_.contains(key)) flows_.clear();
  Flow& flow = flows_[key];
  if ((tcp.flags & kTcpSyn) != 0) flow = {};
  return flow;
}

HelloWatcher::Verdict HelloWatcher::judge(Bytes packet) {
  Verdict verdict;
  const auto pass = [&](Nanos wait = 0) {
    verdict.pass.push_back({Packet(packet.begin(), packet.end()), wait});
    return verdict;
  };
  const auto tcp = settings_.middlebox == Middlebox::kNone ? std::nullopt : parse_tcp(packet);
  if (!tcp) return pass();
  Flow& flow = flow_of(packet, *tcp);
  if (tcp->payload == 0) return pass();
  if (flow.blocked) {
    verdict.dropped = true;
    return verdict;
  }
  const Bytes payload = packet.subspan(tcp->payload_at, tcp->payload);
  const auto record =
      flow.known && flow.begin != tcp->sequence ? std::nullopt : hello_record(payload);
  if (record) {
    flow = {tcp->sequence, tcp->sequence + static_cast<uint32_t>(*record), true, false};
  } else if (!flow.known) {
    flow = {tcp->sequence, tcp->sequence, true, false};  // begins with something else
  }
  switch (settings_.middlebox) {
    case Middlebox::kSplit:
      if (record && tcp->payload > settings_.middlebox_bytes) {
        auto [one, two] = split_segment(packet, settings_.middlebox_bytes);
        verdict.pass.push_back({std::move(one)});
        verdict.pass.push_back({std::move(two)});
        return verdict;
      }
      return pass();
    case Middlebox::kDelay:
      return pass(!record && before(tcp->sequence, flow.end) ? settings_.middlebox_delay : 0);
    case Middlebox::kDrop: flow.blocked = record && *record > settings_.middlebox_bytes; break;
    case Middlebox::kWhole:
      flow.blocked = record && *record > tcp->payload;
      if (flow.blocked) verdict.answers.push_back(reset_for(packet));
      break;
    case Middlebox::kNone: break;
  }
  if (!flow.blocked) return pass();
  verdict.dropped = true;
  return verdict;
}

}  // namespace pqedge::measure::link
