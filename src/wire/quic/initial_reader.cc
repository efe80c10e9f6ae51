#include "wire/quic/initial_reader.h"

#include <algorithm>

#include "wire/quic/long_header.h"
#include "wire/quic/varint.h"

namespace pqedge::quic {
namespace {

// The frames that an Initial packet may hold (RFC 9000 12.4).
enum Frame : uint64_t {
  kPadding = 0x00,
  kPing = 0x01,
  kAck = 0x02,
  kAckEcn = 0x03,
  kCrypto = 0x06,
  kConnectionClose = 0x1c,
};

constexpr uint8_t kClientHello = 1;
constexpr size_t kMessageHeader = 4;  // RFC 8446 4

// RFC 9000 19.3, after the type. Each range takes two bytes at least, so their number is bounded by
// the packet.
bool skip_ack(Bytes& in, bool ecn) {
  uint64_t skipped = 0;
  uint64_t ranges = 0;
  if (!take_varint(in, skipped) || !take_varint(in, skipped) || !take_varint(in, ranges) ||
      ranges > in.size()) {
    return false;
  }
  for (uint64_t left = 1 + 2 * ranges + (ecn ? 3 : 0); left > 0; --left) {
    if (!take_varint(in, skipped)) return false;
  }
  return true;
}

}  // namespace

InitialReader::InitialReader(uint32_t version, Bytes destination)
    : version_(version),
      destination_size_(std::min(destination.size(), sizeof destination_)),
      keys_(client_initial_keys(version, destination)) {
  std::copy_n(destination.begin(), destination_size_, destination_);
  if (!keys_) break_off("no memory for keys");
}

void InitialReader::break_off(std::string_view fault) {
  state_ = State::broken;
  fault_ = fault;
}

InitialReader::State InitialReader::take(Bytes datagram) {
  while (state_ == State::more && !datagram.empty()) {
    const auto header = read_long_header(datagram);
    if (!header) break;
    if (header->type == LongType::initial && header->version == version_ &&
        std::ranges::equal(header->destination, Bytes(destination_, destination_size_))) {
      take_packet(datagram.first(header->size), header->number_offset);
    }
    datagram = datagram.subspan(header->size);
  }
  return state_;
}

void InitialReader::take_packet(Bytes packet, size_t number_offset) {
  const auto opened = open_initial(packet, number_offset, *keys_, largest_);
  if (!opened) return;
  ++packets_;
  largest_ = std::max(largest_, opened->number);
  take_frames(opened->frames);
}

void InitialReader::take_frames(Bytes in) {
  if (in.empty()) return break_off("a packet without frames");  // RFC 9000 12.4
  while (!in.empty() && state_ != State::broken) {
    uint64_t type = 0;
    if (!take_varint(in, type)) return break_off("a frame that is cut short");
    switch (type) {
      case kPadding:
      case kPing: break;
      case kAck:
      case kAckEcn:
        if (!skip_ack(in, type == kAckEcn)) return break_off("an ACK frame that is cut short");
        break;
      case kCrypto:
        if (!take_crypto(in)) return;
        break;
      case kConnectionClose: return break_off("the client closed the connection");
      default: return break_off("a frame that Initial packets may not hold");
    }
  }
  look_at_message();
}

bool InitialReader::take_crypto(Bytes& in) {
  uint64_t offset = 0;
  uint64_t size = 0;
  if (!take_varint(in, offset) || !take_varint(in, size) || in.size() < size) {
    break_off("a CRYPTO frame that is cut short");
    return false;
  }
  switch (pieces_.add(offset, in.first(static_cast<size_t>(size)))) {
    case CryptoPieces::Added::ok: in = in.subspan(static_cast<size_t>(size)); return true;
    case CryptoPieces::Added::conflict:
      // Whoever reads them in another order would see another hello.
      break_off("CRYPTO frames that contradict each other");
      return false;
    case CryptoPieces::Added::beyond: break_off("a hello above 16 KiB"); return false;
    case CryptoPieces::Added::scattered: break_off("a hello in too many pieces"); return false;
  }
  return false;
}

void InitialReader::look_at_message() {
  if (state_ == State::broken) return;
  const Bytes front = pieces_.front();
  if (front.empty()) return;
  if (front[0] != kClientHello) return break_off("another message than a ClientHello");
  if (front.size() < kMessageHeader) return;
  const size_t size = kMessageHeader + load_be24(front.data() + 1);
  if (size > kMaxHello) return break_off("a hello above 16 KiB");
  if (front.size() < size) return;
  message_size_ = size;
  state_ = State::whole;
}

}  // namespace pqedge::quic
