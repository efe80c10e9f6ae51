#include "upstream/pins.h"

#include "upstream/backend.h"

namespace pqedge::upstream {

bool Pins::acquire(Lease& lease, std::string_view pool) {
  const Requester& requester = lease.requester();
  if (requester.purpose() == Purpose::bytes) return false;
  const auto it = by_client_.find(requester.client_connection());
  if (it == by_client_.end()) return false;
  Connection* found = nullptr;
  it->second.for_each([&](Connection& c) {
    if (found == nullptr && c.backend().state().pool == pool && c.serves_client_again()) found = &c;
  });
  if (found == nullptr) return false;
  found->serve_client_again(lease);
  return true;
}

void Pins::forget_client(uint64_t client) {
  const auto it = by_client_.find(client);
  if (it == by_client_.end()) return;
  it->second.for_each([](Connection& c) { c.retire(); });
}

void Pins::add(Connection& connection, uint64_t client) {
  by_client_[client].push_front(connection);
}

void Pins::remove(Connection& connection, uint64_t client) {
  static_cast<ListNode<PinTag>&>(connection).unlink();
  const auto it = by_client_.find(client);
  if (it != by_client_.end() && it->second.empty()) by_client_.erase(it);
}

}  // namespace pqedge::upstream
