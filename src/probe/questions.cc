#include "probe/questions.h"

#include <algorithm>

namespace pqedge::probe {
namespace {

constexpr uint16_t kVersions[] = {kTls13, kTls12, kTls11, kTls10, kSsl3};
static_assert(std::size(kVersions) == kVersionConnections);
constexpr uint16_t kUnknownGroup = 0xfe4a;  // for private use (RFC 8446 4.2.7)
constexpr size_t kLargeHello = 1800;        // above one segment of Ethernet, as a hybrid client's

Finding finding(const Answer& answer) {
  const bool yes = answer.negotiated();
  return {.yes = yes, .detail = yes ? std::string() : answer.detail};
}

}  // namespace

unsigned suite_connections() { return static_cast<unsigned>(tls13_suites().size()) + 1; }
// One more ends the list, and one asks in the opposite order.
unsigned group_connections() { return static_cast<unsigned>(all_groups().size()) + 2; }

void ask_versions(Dialer& dialer, Report& report) {
  for (const uint16_t version : kVersions) {
    const Answer answer = ask(dialer, version == kTls13 ? modern_hello(dialer.options())
                                                        : old_hello(dialer.options(), version));
    VersionReport found;
    found.version = version;
    found.detail = answer.detail;
    if (answer.negotiated()) {
      found.accepted = answer.hello.version == version;
      if (found.accepted) {
        found.cipher = answer.hello.cipher;
      } else {
        found.detail = "it answers with " + version_label(answer.hello.version);
      }
    }
    report.versions.push_back(std::move(found));
  }
}

// What it chose is left out of the next hello, until it finds nothing any more: as many connections
// as there are accepted suites, and one.
void ask_suites(Dialer& dialer, Report& report) {
  HelloShape shape = modern_hello(dialer.options());
  while (!shape.ciphers.empty()) {
    const Answer answer = ask(dialer, shape);
    if (!answer.negotiated() || std::erase(shape.ciphers, answer.hello.cipher) == 0) return;
    report.suites.push_back(answer.hello.cipher);
  }
}

void ask_groups(Dialer& dialer, Report& report) {
  HelloShape shape = modern_hello(dialer.options());
  while (!shape.groups.empty()) {
    const Answer answer = ask(dialer, shape);
    if (!answer.negotiated() || !answer.hello.group) {
      if (report.groups.empty()) report.groups_detail = answer.detail;
      break;
    }
    if (std::erase(shape.groups, *answer.hello.group) == 0) {
      report.groups_detail =
          "it answered with " + group_label(*answer.hello.group) + ", which the hello did not list";
      break;
    }
    report.groups.push_back(*answer.hello.group);
  }
  if (report.groups.size() < 2) return;
  shape.groups.assign(report.groups.rbegin(), report.groups.rend());
  const Answer answer = ask(dialer, shape);
  if (answer.negotiated() && answer.hello.group) {
    report.own_order.yes = *answer.hello.group == report.groups.front();
    report.own_order.detail = group_label(*answer.hello.group);
  }
}

void ask_static_rsa(Dialer& dialer, Report& report) {
  HelloShape shape = old_hello(dialer.options(), kTls12);
  shape.ciphers = static_rsa_suites();
  const Answer answer = ask(dialer, shape);
  report.static_rsa = finding(answer);
  if (answer.negotiated()) report.static_rsa.detail = suite_label(answer.hello.cipher);
}

void ask_tolerance(Dialer& dialer, Report& report) {
  HelloShape large = modern_hello(dialer.options());
  large.pad_to = kLargeHello;
  report.large_hello = finding(ask(dialer, large));
  report.two_segments = finding(ask(dialer, large, Delivery::segments));
  report.two_records = finding(ask(dialer, large, Delivery::records));

  HelloShape unknown = modern_hello(dialer.options());
  unknown.groups.insert(unknown.groups.begin(), kUnknownGroup);
  Answer answer = ask(dialer, unknown);
  report.unknown_group = finding(answer);
  if (answer.negotiated() && answer.hello.group == kUnknownGroup) {
    report.unknown_group = {.yes = false, .detail = "it chose the unknown group"};
  }

  HelloShape grease = modern_hello(dialer.options());
  grease.grease = true;
  report.grease = finding(ask(dialer, grease));
}

}  // namespace pqedge::probe
