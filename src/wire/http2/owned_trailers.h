// A trailer section that leaves after the last DATA, when the fields of its maker may be gone.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/message.h"

namespace pqedge::http2 {

class OwnedTrailers {
 public:
  // Null where there is nothing to be sent.
  static std::unique_ptr<OwnedTrailers> of(const http::Fields* fields);

  void submit(nghttp2_session* session, int32_t stream_id) const;

 private:
  struct Field {
    std::string name;
    std::string value;
    uint8_t flags;  // never indexed stays never indexed (RFC 7541 6.2.3)
  };

  std::vector<Field> fields_;
};

}  // namespace pqedge::http2
