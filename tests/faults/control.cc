#include "faults/control.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "faults/rules.h"

namespace faults {
namespace {

constinit Shared own{};  // of PQEDGE_FAULTS, without a file
std::atomic<Shared*> shared{nullptr};
constinit Rules tables[2];
std::atomic<Rules*> current{nullptr};
std::atomic<uint32_t> current_version{0};
std::atomic_flag parsing = ATOMIC_FLAG_INIT;

// The table that is not in use. A reader of the old one may still be at it: it sees a table that
// changes under it once, for one call.
void parse(Shared& from, uint32_t version) {
  char text[Shared::kText + 1];
  const size_t size = std::min<size_t>(from.size.load(std::memory_order_acquire), Shared::kText);
  std::memcpy(text, from.text, size);
  text[size] = '\0';
  Rules& rules = current.load(std::memory_order_relaxed) == &tables[0] ? tables[1] : tables[0];
  rules = {};
  char* rest = nullptr;
  for (char* line = ::strtok_r(text, ";\n", &rest); line != nullptr;
       line = ::strtok_r(nullptr, ";\n", &rest)) {
    take_line(rules, line);
  }
  current.store(&rules, std::memory_order_release);
  current_version.store(version, std::memory_order_release);
}

// Null: there are no rules.
Rules* rules_now() {
  Shared* const from = shared.load(std::memory_order_acquire);
  if (from == nullptr) return nullptr;
  const uint32_t version = from->version.load(std::memory_order_acquire);
  if (version != current_version.load(std::memory_order_acquire)) {
    while (parsing.test_and_set(std::memory_order_acquire)) {
    }
    if (version != current_version.load(std::memory_order_acquire)) parse(*from, version);
    parsing.clear(std::memory_order_release);
  }
  return current.load(std::memory_order_acquire);
}

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

bool is_about(const Rule& rule, int fd, const msghdr* message) {
  if (rule.thread[0] != '\0') {
    char name[16] = {};
    ::prctl(PR_GET_NAME, name);
    if (std::strncmp(name, rule.thread, std::strlen(rule.thread)) != 0) return false;
  }
  switch (rule.only) {
    case Only::all: return true;
    case Only::gso: return message != nullptr && asks_for_gso(*message);
    case Only::file: {
      struct stat info;
      return fd >= 0 && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    }
    case Only::local: return option(fd, SO_DOMAIN) == AF_UNIX;
    case Only::tcp:
    case Only::udp: break;
  }
  const int domain = option(fd, SO_DOMAIN);
  const int type = rule.only == Only::tcp ? SOCK_STREAM : SOCK_DGRAM;
  return (domain == AF_INET || domain == AF_INET6) && option(fd, SO_TYPE) == type;
}

// The same calls fail in every run (splitmix64, Steele, Lea and Flood).
uint64_t dice(uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

bool has_its_turn(const Rule& rule, Shared::Count& count) {
  const uint64_t n = count.seen.fetch_add(1, std::memory_order_relaxed) + 1;
  if (n <= rule.skip) return false;
  const uint64_t at = n - rule.skip;
  if (rule.nth != 0 && at != rule.nth) return false;
  if (rule.every != 0 && at % rule.every != 0) return false;
  if (dice(at) > rule.share) return false;
  if (count.failed.load(std::memory_order_relaxed) >= rule.times) return false;
  count.failed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

__attribute__((constructor)) void begin() {
  if (const char* const path = std::getenv("PQEDGE_FAULTS_CONTROL"); path != nullptr) {
    const int fd = ::open(path, O_RDWR | O_CLOEXEC);
    void* const place =
        fd < 0 ? MAP_FAILED
               : ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (place == MAP_FAILED) refuse("PQEDGE_FAULTS_CONTROL cannot be mapped", path);
    ::close(fd);
    shared.store(static_cast<Shared*>(place), std::memory_order_release);
  } else if (const char* const text = std::getenv("PQEDGE_FAULTS"); text != nullptr) {
    const size_t size = std::strlen(text);
    if (size > Shared::kText) refuse("PQEDGE_FAULTS is too long", "");
    std::memcpy(own.text, text, size);
    own.size = static_cast<uint32_t>(size);
    own.version = 1;
    shared.store(&own, std::memory_order_release);
  }
}

}  // namespace

Fault ask(Call call, int fd, const msghdr* message) {
  const int before = errno;
  Rules* const rules = rules_now();
  const uint32_t bit = 1u << static_cast<uint32_t>(call);
  if (rules == nullptr || (rules->calls & bit) == 0) return {};
  Fault fault;
  for (size_t i = 0; i < rules->count && !fault; ++i) {
    const Rule& rule = rules->rule[i];
    if ((rule.calls & bit) == 0 || !is_about(rule, fd, message)) continue;
    if (has_its_turn(rule, shared.load(std::memory_order_relaxed)->counts[i])) fault = rule.fault;
  }
  errno = before;
  return fault;
}

bool has_rules(Call call) {
  const Rules* const rules = rules_now();
  return rules != nullptr && (rules->calls & (1u << static_cast<uint32_t>(call))) != 0;
}

int64_t clock_offset() {
  const Rules* const rules = rules_now();
  return rules == nullptr ? 0 : rules->offset;
}

bool asks_for_gso(const msghdr& message) {
  auto* m = const_cast<msghdr*>(&message);
  for (cmsghdr* c = CMSG_FIRSTHDR(m); c != nullptr; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_SEGMENT) return true;
  }
  return false;
}

}  // namespace faults
