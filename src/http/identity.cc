// Who asks, and the request's ID.
#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/time.h"
#include "http/node.h"
#include "http/rules.h"

namespace pqedge::http {
namespace {

constexpr size_t kLongestRequestId = 128;

// xoshiro256++ (Blackman and Vigna): request IDs are to be unlike each other, not secret.
class Random {
 public:
  Random() {
    size_t filled = 0;
    auto* const bytes = reinterpret_cast<uint8_t*>(state_);
    while (filled < sizeof state_) {
      const ssize_t n = getrandom(bytes + filled, sizeof state_ - filled, 0);
      if (n > 0) filled += static_cast<size_t>(n);
      if (n < 0 && errno != EINTR) break;
    }
    state_[0] |= 1;  // never all zero
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  uint64_t state_[4] = {monotonic_now(), wall_now(), 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};
};

void put_hex(char* out, uint64_t n) {
  for (int i = 15; i >= 0; --i, n >>= 4) out[i] = "0123456789abcdef"[n & 15];
}

std::string_view make_request_id(Arena& arena) {
  thread_local Random random;
  char* const text = static_cast<char*>(arena.allocate(32));
  put_hex(text, random.next());
  put_hex(text + 16, random.next());
  return {text, 32};
}

std::string_view ip_text(const net::Address& address, Arena& arena) {
  char text[net::Address::kMaxIpText];
  return arena.copy({text, address.write_ip(text)});
}

}  // namespace

Identity identify(const Request& request, const net::ConnectionFacts& facts,
                  const IdentitySettings& settings) {
  Arena& arena = *request.arena;
  Identity identity;
  identity.trusted_peer = is_trusted(facts.peer, settings.trusted_proxies);
  if (!identity.trusted_peer) {
    identity.client_ip = ip_text(facts.peer, arena);
    identity.request_id = make_request_id(arena);
    return identity;
  }
  const auto behind = client_behind(request.fields, settings.trusted_proxies);
  identity.client_ip = ip_text(behind ? *behind : facts.peer, arena);
  const std::string_view theirs = request.fields.get(Name::x_request_id);
  identity.request_id =
      theirs.size() <= kLongestRequestId && is_token(theirs) ? theirs : make_request_id(arena);
  return identity;
}

}  // namespace pqedge::http
