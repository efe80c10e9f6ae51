#include "crypto/handshake_pause.h"

namespace pqedge::crypto {

void Resume::operator()() const {
  if (slot_ == nullptr) return;
  slot_->loop->post([slot = slot_] {
    if (slot->driver != nullptr) slot->driver->resume_handshake();
  });
}

Resume PausePoint::resume() {
  if (slot_ == nullptr) {
    slot_ = std::make_shared<Resume::Slot>();
    *slot_ = {loop_, driver_};
  }
  return Resume(slot_);
}

void PausePoint::forget() {
  if (slot_ != nullptr) slot_->driver = nullptr;
  slot_ = nullptr;
}

}  // namespace pqedge::crypto
