#include "edge/udp_streams.h"

#include <fcntl.h>

#include <algorithm>

#include "edge/handover.h"
#include "edge/worker.h"

namespace pqedge::edge {

Result<UdpStreams::Opened> UdpStreams::make(ListenerPlan& plan) {
  Opened fresh;
  for (ListenerPlan::Entry& e : plan.entries) {
    const std::string key = e.view->address.to_string();
    if (!e.view->settings.udp || !e.udp.fd || open_.contains(key)) continue;
    auto made = UdpStream::create(worker_, e.view, std::move(e.udp), e.read_udp);
    if (!made) return std::unexpected(made.error());
    fresh[key] = std::move(*made);
  }
  return fresh;
}

void UdpStreams::apply(const ListenerPlan& plan, Opened fresh) {
  auto old = std::exchange(open_, std::move(fresh));
  for (const ListenerPlan::Entry& e : plan.entries) {
    if (!e.view->settings.udp) continue;
    const std::string key = e.view->address.to_string();
    const auto it = old.find(key);
    if (it == old.end()) continue;
    it->second->update(e.view);
    open_[key] = std::move(it->second);
    old.erase(it);
  }
  for (auto& [key, stream] : old) {
    stream->stop_accepting();
    closing_.push_back(std::move(stream));
  }
}

void UdpStreams::close_unused() {
  std::erase_if(closing_, [](const auto& s) { return s->sessions() == 0; });
}

void UdpStreams::stop_accepting() {
  for (auto& [key, stream] : open_) stream->stop_accepting();
}

void UdpStreams::cut(std::string_view why) {
  for (auto& [key, stream] : open_) stream->cut(why);
  for (auto& stream : closing_) stream->cut(why);
}

void UdpStreams::clear() {
  open_.clear();
  closing_.clear();
}

UdpStream* UdpStreams::find(const net::Address& address) const {
  const auto it = open_.find(address.to_string());
  return it == open_.end() ? nullptr : it->second.get();
}

Result<void> UdpStreams::add_sockets_to(std::vector<PassedSocket>& out) const {
  for (const auto& [key, stream] : open_) {
    net::Fd copy(fcntl(stream->fd(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return fail_errno(errno, "cannot duplicate a listening socket");
    out.push_back({.use = PassedSocket::Use::udp,
                   .address = stream->view().address,
                   .worker = worker_.index(),
                   .fd = std::move(copy)});
  }
  return {};
}

void UdpStreams::stop_reading(const std::vector<std::string>& addresses) {
  for (const auto& [key, stream] : open_) {
    // Taking a socket out of the loop does not fail.
    if (std::ranges::contains(addresses, key)) {
      [[maybe_unused]] const auto ok = stream->set_reading(false);
    }
  }
}

Result<void> UdpStreams::begin_reading() {
  for (const auto& [key, stream] : open_) {
    if (auto ok = stream->set_reading(true); !ok) return ok;
  }
  return {};
}

}  // namespace pqedge::edge
