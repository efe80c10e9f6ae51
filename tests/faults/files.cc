// Files, the wall clock and the random generator.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <ctime>

#include "faults/control.h"

namespace faults {
namespace {

long refused(const Fault& fault) {
  errno = fault.error;
  return -1;
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  if (const Fault f = ask(Call::open)) return static_cast<int>(refused(f));
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

}  // namespace
}  // namespace faults

using namespace faults;

extern "C" {

ssize_t read(int fd, void* into, size_t size) {
  if (const Fault f = ask(Call::read, fd)) {
    if (f.error != 0) return refused(f);
    size = std::min(size, f.most);
  }
  return ::syscall(SYS_read, fd, into, size);
}
ssize_t __read_chk(int fd, void* into, size_t size, size_t) { return read(fd, into, size); }

ssize_t write(int fd, const void* bytes, size_t size) {
  if (const Fault f = ask(Call::write, fd)) {
    if (f.error != 0) return refused(f);
    size = std::min(size, f.most);
  }
  return ::syscall(SYS_write, fd, bytes, size);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  if (const Fault f = ask(Call::write, fd); f.error != 0) return refused(f);
  return ::syscall(SYS_writev, fd, parts, count);
}

int fsync(int fd) {
  if (const Fault f = ask(Call::sync, fd)) return static_cast<int>(refused(f));
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  if (const Fault f = ask(Call::sync, fd)) return static_cast<int>(refused(f));
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}
int __open_2(const char* path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }

ssize_t getrandom(void* into, size_t size, unsigned int flags) {
  if (const Fault f = ask(Call::random)) {
    if (f.error != 0) return refused(f);
    size = std::min(size, f.most);
  }
  return ::syscall(SYS_getrandom, into, size, flags);
}

int getentropy(void* into, size_t size) {
  if (const Fault f = ask(Call::random); f.error != 0) return static_cast<int>(refused(f));
  return ::syscall(SYS_getrandom, into, size, 0) == static_cast<long>(size) ? 0 : -1;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto done = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (done == 0 && is_wall_clock(clock)) now->tv_sec += clock_offset();
  return done;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* place) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place != nullptr) *place = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
