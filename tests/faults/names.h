// The words of a rule.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "faults/control.h"

namespace faults {

// The bits of Call that a word stands for; 0: it is none.
inline uint32_t calls_of(const char* word) {
  constexpr const char* kNames[] = {"malloc",       "mmap",      "socket",     "accept",  "connect",
                                    "epoll_create", "epoll_ctl", "epoll_wait", "eventfd", "send",
                                    "sendmmsg",     "recv",      "recvmmsg",   "read",    "write",
                                    "sync",         "open",      "random",     "clock"};
  static_assert(std::size(kNames) == static_cast<size_t>(Call::count_));
  const auto bit = [](Call c) { return 1u << static_cast<uint32_t>(c); };
  if (std::strcmp(word, "sends") == 0) return bit(Call::send) | bit(Call::sendmmsg);
  if (std::strcmp(word, "recvs") == 0) return bit(Call::recv) | bit(Call::recvmmsg);
  if (std::strcmp(word, "calls") == 0) {  // what a signal may break off
    return bit(Call::accept) | bit(Call::epoll_wait) | bit(Call::send) | bit(Call::sendmmsg) |
           bit(Call::recv) | bit(Call::recvmmsg) | bit(Call::read) | bit(Call::write) |
           bit(Call::random);
  }
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (std::strcmp(word, kNames[i]) == 0) return 1u << i;
  }
  return 0;
}

// 0: a name that is not known here.
inline int error_of(const char* name) {
  struct Entry {
    const char* name;
    int code;
  };
  constexpr Entry kErrors[] = {{"EAGAIN", EAGAIN},
                               {"EINTR", EINTR},
                               {"EIO", EIO},
                               {"EINVAL", EINVAL},
                               {"EMFILE", EMFILE},
                               {"ENFILE", ENFILE},
                               {"ENOBUFS", ENOBUFS},
                               {"ENOMEM", ENOMEM},
                               {"ENOSPC", ENOSPC},
                               {"ENOSYS", ENOSYS},
                               {"EDQUOT", EDQUOT},
                               {"EFBIG", EFBIG},
                               {"EPERM", EPERM},
                               {"EACCES", EACCES},
                               {"EMSGSIZE", EMSGSIZE},
                               {"ECONNABORTED", ECONNABORTED},
                               {"EADDRNOTAVAIL", EADDRNOTAVAIL},
                               {"ENETUNREACH", ENETUNREACH},
                               {"EHOSTUNREACH", EHOSTUNREACH},
                               {"ECONNREFUSED", ECONNREFUSED},
                               {"EPIPE", EPIPE}};
  for (const Entry& e : kErrors) {
    if (std::strcmp(e.name, name) == 0) return e.code;
  }
  return 0;
}

}  // namespace faults
