#include "measure/timing/cancel.h"

#include <array>
#include <csignal>

namespace pqedge::measure {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

std::atomic<bool> cancel_flag{false};
std::atomic<int> signal_seen{0};
std::array<struct sigaction, kSignals.size()> handlers_before;

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  if (!cancel_flag.exchange(true)) {
    signal_seen.store(number);
    return;
  }
  // It is blocked while this runs, and ends the process on return.
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

CancelOnSignal::CancelOnSignal() {
  cancel_flag = false;
  signal_seen = 0;
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &handlers_before[i]);
    // A shell that starts a job in the background has it ignore SIGINT: so it stays.
    if (handlers_before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

CancelOnSignal::~CancelOnSignal() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &handlers_before[i], nullptr);
}

const std::atomic<bool>* CancelOnSignal::flag() const { return &cancel_flag; }

int CancelOnSignal::signal() const { return signal_seen; }

}  // namespace pqedge::measure
