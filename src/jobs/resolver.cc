#include "jobs/resolver.h"

#include <ares.h>
#include <ares_dns_record.h>

#include <algorithm>
#include <mutex>

#include "upstream/discovery_settings.h"

namespace pqedge::jobs {
namespace {

// A question under way. Its callback runs on c-ares' thread, once in any case.
template <typename T>
struct Question {
  net::Loop& loop;
  uint16_t port;
  Resolver::Done<T> done;

  void answer(Result<T> result) {
    loop.post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }
};

std::unexpected<Error> failure(int status) { return fail("{}", ares_strerror(status)); }

void on_addresses(void* arg, int status, int, ares_addrinfo* found) {
  const std::unique_ptr<Question<FoundAddresses>> q(static_cast<Question<FoundAddresses>*>(arg));
  const std::unique_ptr<ares_addrinfo, decltype(&ares_freeaddrinfo)> owned(found,
                                                                           ares_freeaddrinfo);
  if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED) return;
  if (status != ARES_SUCCESS) return q->answer(failure(status));
  FoundAddresses out;
  uint32_t ttl = UINT32_MAX;
  for (const ares_addrinfo_node* n = found->nodes; n != nullptr; n = n->ai_next) {
    const auto address =
        net::Address::from_sockaddr(n->ai_addr, static_cast<socklen_t>(n->ai_addrlen));
    // An answer is not trusted to name every machine there is.
    if (!address.is_ip() || address.is_any()) continue;
    if (out.addresses.size() >= upstream::kMaxServers) break;
    out.addresses.push_back(address.with_port(q->port));
    ttl = std::min(ttl, static_cast<uint32_t>(std::max(0, n->ai_ttl)));
  }
  for (const ares_addrinfo_cname* c = found->cnames; c != nullptr; c = c->next) {
    ttl = std::min(ttl, static_cast<uint32_t>(std::max(0, c->ttl)));
  }
  if (out.addresses.empty()) return q->answer(fail("the name has no address"));
  // Resolvers rotate them.
  std::ranges::sort(out.addresses, {}, [](const net::Address& a) { return a.ip16(); });
  const auto twice = std::ranges::unique(out.addresses);
  out.addresses.erase(twice.begin(), twice.end());
  out.ttl = ttl;
  q->answer(std::move(out));
}

void on_services(void* arg, ares_status_t status, size_t, const ares_dns_record_t* record) {
  const std::unique_ptr<Question<FoundServices>> q(static_cast<Question<FoundServices>*>(arg));
  if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED) return;
  if (status != ARES_SUCCESS) return q->answer(failure(static_cast<int>(status)));
  FoundServices out;
  out.ttl = UINT32_MAX;
  const size_t count = ares_dns_record_rr_cnt(record, ARES_SECTION_ANSWER);
  for (size_t i = 0; i < count; ++i) {
    const ares_dns_rr_t* rr = ares_dns_record_rr_get_const(record, ARES_SECTION_ANSWER, i);
    out.ttl = std::min(out.ttl, ares_dns_rr_get_ttl(rr));
    if (ares_dns_rr_get_type(rr) != ARES_REC_TYPE_SRV) continue;
    const char* target = ares_dns_rr_get_str(rr, ARES_RR_SRV_TARGET);
    const uint16_t port = ares_dns_rr_get_u16(rr, ARES_RR_SRV_PORT);
    // RFC 2782: the target "." says that there is no such service.
    if (target == nullptr || *target == '\0' || std::string_view(target) == "." || port == 0) {
      continue;
    }
    if (out.services.size() >= upstream::kMaxServers) break;
    out.services.push_back({.target = target,
                            .port = port,
                            .priority = ares_dns_rr_get_u16(rr, ARES_RR_SRV_PRIORITY),
                            .weight = ares_dns_rr_get_u16(rr, ARES_RR_SRV_WEIGHT)});
  }
  if (out.services.empty()) return q->answer(fail("the name has no SRV record with a server"));
  q->answer(std::move(out));
}

}  // namespace

Result<std::unique_ptr<Resolver>> Resolver::create(net::Loop& loop,
                                                   const std::vector<net::Address>& servers,
                                                   Nanos timeout) {
  static std::once_flag once;
  static int ready = ARES_SUCCESS;
  std::call_once(once, [] { ready = ares_library_init(ARES_LIB_INIT_ALL); });
  if (ready != ARES_SUCCESS) return fail("c-ares: {}", ares_strerror(ready));
  if (ares_threadsafety() != ARES_TRUE) return fail("c-ares was built without threads");

  std::unique_ptr<Resolver> resolver(new Resolver(loop));
  ares_options options{};
  options.timeout = static_cast<int>(timeout / kMillisecond);
  options.maxtimeout = options.timeout;
  options.tries = 2;
  options.qcache_max_ttl = 0;  // when to ask again is decided by who asks
  options.evsys = ARES_EVSYS_DEFAULT;
  ares_channel_t* channel = nullptr;
  const int status = ares_init_options(&channel, &options,
                                       ARES_OPT_TIMEOUTMS | ARES_OPT_MAXTIMEOUTMS | ARES_OPT_TRIES |
                                           ARES_OPT_QUERY_CACHE | ARES_OPT_EVENT_THREAD);
  if (status != ARES_SUCCESS) return fail("c-ares: {}", ares_strerror(status));
  resolver->channel_ = channel;
  if (servers.empty()) return resolver;
  std::string list;
  for (const net::Address& server : servers) {
    if (!list.empty()) list += ',';
    list += server.to_string();
  }
  if (const int set = ares_set_servers_ports_csv(channel, list.c_str()); set != ARES_SUCCESS) {
    return fail("the resolvers {}: {}", list, ares_strerror(set));
  }
  return resolver;
}

// Waits for its thread; a question that is open is told so, and its answer dropped.
Resolver::~Resolver() {
  if (channel_ != nullptr) ares_destroy(static_cast<ares_channel_t*>(channel_));
}

void Resolver::addresses(const std::string& name, uint16_t port, Done<FoundAddresses> done) {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NOSORT;
  ares_getaddrinfo(static_cast<ares_channel_t*>(channel_), name.c_str(), nullptr, &hints,
                   on_addresses, new Question<FoundAddresses>{loop_, port, std::move(done)});
}

void Resolver::services(const std::string& name, Done<FoundServices> done) {
  ares_query_dnsrec(static_cast<ares_channel_t*>(channel_), name.c_str(), ARES_CLASS_IN,
                    ARES_REC_TYPE_SRV, on_services,
                    new Question<FoundServices>{loop_, 0, std::move(done)}, nullptr);
}

}  // namespace pqedge::jobs
