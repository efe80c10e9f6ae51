#include "record/timestamp.h"

#include <cstdio>
#include <ctime>

namespace pqedge::record {

void append_timestamp(std::string& out, Nanos wall) {
  struct Cache {
    time_t second = -1;
    char text[64];
    int length = 0;
  };
  thread_local Cache cache;
  const auto second = static_cast<time_t>(wall / kSecond);
  if (second != cache.second) {
    tm t{};
    gmtime_r(&second, &t);
    cache.length =
        std::snprintf(cache.text, sizeof cache.text, "%04d-%02d-%02dT%02d:%02d:%02d.",
                      t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
    cache.second = second;
  }
  const auto millis = static_cast<unsigned>(wall / kMillisecond % 1000);
  const char rest[] = {static_cast<char>('0' + millis / 100),
                       static_cast<char>('0' + millis / 10 % 10),
                       static_cast<char>('0' + millis % 10), 'Z'};
  out.append(cache.text, static_cast<size_t>(cache.length));
  out.append(rest, sizeof rest);
}

}  // namespace pqedge::record
