// X25519 as a key exchange (provider-keyexch(7)).
#include <cstring>
#include <new>

#include "fastcrypto/key.h"
#include "fastcrypto/params.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

// OpenSSL keeps both keys as long as the context.
struct Exchange : FromCore {
  const Key* ours = nullptr;
  const Key* peer = nullptr;
};

Exchange& self(void* context) { return *static_cast<Exchange*>(context); }

void* make(void*) { return new (std::nothrow) Exchange; }
void destroy(void* context) { delete static_cast<Exchange*>(context); }
void* duplicate(void* context) { return new (std::nothrow) Exchange(self(context)); }

int init(void* context, void* key, const OSSL_PARAM*) {
  const auto* ours = static_cast<const Key*>(key);
  if (ours == nullptr || !ours->has_private()) return 0;
  self(context).ours = ours;
  self(context).peer = nullptr;
  return 1;
}

int set_peer(void* context, void* key) {
  const auto* peer = static_cast<const Key*>(key);
  if (peer == nullptr || !peer->has_public()) return 0;
  self(context).peer = peer;
  return 1;
}

int derive(void* context, unsigned char* secret, size_t* size, size_t room) {
  const Exchange& e = self(context);
  if (e.ours == nullptr || e.peer == nullptr) return 0;
  *size = kX25519Size;
  if (secret == nullptr) return 1;
  return room >= kX25519Size && x25519(secret, e.ours->private_part(), e.peer->public_part());
}

const OSSL_DISPATCH kFunctions[] = {
    entry(OSSL_FUNC_KEYEXCH_NEWCTX, make),
    entry(OSSL_FUNC_KEYEXCH_FREECTX, destroy),
    entry(OSSL_FUNC_KEYEXCH_DUPCTX, duplicate),
    entry(OSSL_FUNC_KEYEXCH_INIT, init),
    entry(OSSL_FUNC_KEYEXCH_SET_PEER, set_peer),
    entry(OSSL_FUNC_KEYEXCH_DERIVE, derive),
    {0, nullptr},
};

}  // namespace

const OSSL_ALGORITHM kKeyExchanges[] = {
    {kX25519Names, kProperties, kFunctions, "X25519 of AWS-LC"},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace pqedge::fast
