// The reader of hellos in QUIC's Initial packets. The input is a row of pieces, each with its size
// in two bytes before it. A piece whose size has its highest bit set holds frames, which are sealed
// into a packet here (no fuzzer finds a valid tag); others are datagrams as they came.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "crypto/client_hello.h"
#include "unit/wire/initial_sealer.h"
#include "wire/quic/initial_reader.h"

namespace {

using namespace pqedge;

void require(bool condition) {
  if (!condition) std::abort();
}

// What was read is a hello of the size that it says, and stays what it was.
void look(const quic::InitialReader& reader) {
  require(reader.held() <= quic::InitialReader::kMaxHello);
  require(reader.fault().empty() == (reader.state() != quic::InitialReader::State::broken));
  if (reader.state() != quic::InitialReader::State::whole) return;
  const Bytes message = reader.message();
  require(message.size() >= 4 && message[0] == 1);
  require(load_be24(message.data() + 1) + 4 == message.size());
  (void)crypto::parse_client_hello(message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint8_t destination[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::unique_ptr<quic::InitialReader> reader;
  uint64_t number = 0;
  for (Bytes in{data, size}; in.size() > 2;) {
    const uint16_t word = load_be16(in.data());
    const size_t most = (word & 0x8000) != 0 ? 0x3fff : 0x7fff;
    const size_t n = std::min<size_t>(word & most, in.size() - 2);
    const Bytes piece = in.subspan(2, n);
    in = in.subspan(2 + n);
    quic::test::Buffer packet(piece.begin(), piece.end());
    if ((word & 0x8000) != 0) {
      packet.resize(std::clamp<size_t>(packet.size(), 4, 8000));
      packet = quic::test::seal_initial((word & 0x4000) != 0 ? quic::kVersion2 : quic::kVersion1,
                                        destination, {}, number++, 2, packet);
    }
    if (reader == nullptr) {
      const auto header = quic::read_long_header(packet);
      if (!header || header->type != quic::LongType::initial) continue;
      reader = std::make_unique<quic::InitialReader>(header->version, header->destination);
    }
    reader->take(packet);
    look(*reader);
  }
  return 0;
}
