// QPACK with its dynamic table, as a client uses it toward us, and our encoder with what a client's
// decoder says. However the bytes of a section are cut, it is the same section; what waits for the
// table waits for entries that are not there; and what we encode is decoded as what it was.
//
// Input: pieces, each with a byte before it that says what it is (the highest two bits: bytes of
// the encoder stream, a section in one piece, the same byte by byte, bytes of the decoder stream)
// and how long (the others; 63: two more bytes say).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "wire/http3/qpack.h"

namespace {

using namespace pqedge;
using http3::FieldSection;
using http3::QpackDecoder;
using http3::QpackEncoder;
using Status = FieldSection::Status;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Read {
  Status status = Status::more;
  std::string text;
};

Read read_section(QpackDecoder& decoder, Bytes in, size_t piece, int64_t stream) {
  FieldSection section(stream);
  Read out;
  do {
    Bytes part = in.first(std::min(piece, in.size()));
    in = in.subspan(part.size());
    out.status = section.decode(decoder, part, in.empty(), [&](const http3::DecodedField& f) {
      out.text.append(f.name).append("\0", 1).append(f.value).append("\n");
      return true;
    });
    if (out.status == Status::blocked) {
      require(section.required_insert_count() > decoder.insert_count());
    }
  } while (out.status == Status::more && !in.empty());
  if (out.status == Status::blocked || out.status == Status::stopped) {
    static_cast<void>(decoder.cancel(stream));
  }
  return out;
}

nghttp3_nv field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<const uint8_t*>(name.data()),
          reinterpret_cast<const uint8_t*>(value.data()), name.size(), value.size(),
          NGHTTP3_NV_FLAG_NONE};
}

// A section of ours, read by a decoder that has had all that our encoder said before.
void round_trip(QpackEncoder& encoder, QpackDecoder& mirror, std::string_view value,
                int64_t stream) {
  const std::vector<nghttp3_nv> fields = {field(":status", "200"), field("x-a", value),
                                          field("content-type", "text/plain"),
                                          field("x-b", "a value that is always the same")};
  require(encoder.encode(stream, fields));
  require(mirror.read_encoder_stream(encoder.encoder_stream()).has_value());
  std::string bytes(as_text(encoder.prefix()));
  bytes += as_text(encoder.section());
  const Read read = read_section(mirror, as_bytes(bytes), SIZE_MAX, stream);
  require(read.status == Status::done);
  std::string wanted;
  for (const nghttp3_nv& f : fields) {
    wanted.append(reinterpret_cast<const char*>(f.name), f.namelen).append("\0", 1);
    wanted.append(reinterpret_cast<const char*>(f.value), f.valuelen).append("\n");
  }
  require(read.text == wanted);
  if (stream % 8 == 0) return;
  std::vector<uint8_t> said(mirror.pending());
  require(mirror.write(said) == said.size());
  require(encoder.read_decoder_stream(said).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8192) return 0;
  QpackDecoder decoder(100);
  QpackDecoder other(100);  // sees the same in other pieces
  QpackEncoder encoder;
  encoder.allow(4096, 16);
  QpackDecoder mirror(100);
  bool told_nonsense = false;
  int64_t stream = 0;
  for (Bytes in{data, size}; !in.empty() && stream < 4 * 64; stream += 4) {
    const uint8_t head = in[0];
    in = in.subspan(1);
    size_t n = head & 63;
    if (n == 63 && in.size() >= 2) {
      n = load_be16(in.data());
      in = in.subspan(2);
    }
    const Bytes piece = in.first(std::min(n, in.size()));
    in = in.subspan(piece.size());
    switch (head >> 6) {
      case 0: {
        const bool good = decoder.read_encoder_stream(piece).has_value();
        bool good_too = true;
        for (size_t i = 0; i < piece.size() && good_too; ++i) {
          good_too = other.read_encoder_stream(piece.subspan(i, 1)).has_value();
        }
        require(good == good_too);
        if (!good) return 0;  // the connection is over
        require(decoder.insert_count() == other.insert_count());
        break;
      }
      case 1:
      case 2: {
        const size_t cut = head >> 6 == 1 ? SIZE_MAX : 1;
        const Read one = read_section(decoder, piece, cut, stream);
        const Read two = read_section(other, piece, 3, stream);
        require(one.status == two.status);
        if (one.status == Status::done) require(one.text == two.text);
        if (one.status == Status::failed) return 0;
        std::vector<uint8_t> said(decoder.pending());
        require(decoder.write(said) == said.size());
        break;
      }
      default:
        if (!encoder.read_decoder_stream(piece)) return 0;
        told_nonsense = true;
        break;
    }
    // What a client acknowledges that it never had is its own fault, and hurts nobody else.
    if (!told_nonsense) round_trip(encoder, mirror, as_text(piece), stream);
  }
  return 0;
}
