#include "wire/http1/counters.h"

#include <string>

namespace pqedge::http1::counters {
namespace {

Counter make_refused(const char* status) {
  return Counter("pqedge_http1_refused_requests_total", "HTTP/1 requests refused by the codec",
                 {{"status", status}});
}

}  // namespace

const Counter& refused(uint16_t status) {
  static const Counter bad_request = make_refused("400");
  static const Counter timeout = make_refused("408");
  static const Counter body_too_large = make_refused("413");
  static const Counter target_too_long = make_refused("414");
  static const Counter expectation = make_refused("417");
  static const Counter head_too_large = make_refused("431");
  static const Counter not_implemented = make_refused("501");
  static const Counter version = make_refused("505");
  switch (status) {
    case 408: return timeout;
    case 413: return body_too_large;
    case 414: return target_too_long;
    case 417: return expectation;
    case 431: return head_too_large;
    case 501: return not_implemented;
    case 505: return version;
    default: return bad_request;
  }
}

const Counter lingering_closes("pqedge_http1_lingering_closes_total",
                               "connections whose input was read and dropped before the close");
const Counter linger_overruns("pqedge_http1_linger_overruns_total",
                              "lingering connections closed with the client still sending");
const Counter send_timeouts("pqedge_http1_send_timeouts_total",
                            "HTTP/1 connections closed since the client took nothing");
const Counter broken_answers("pqedge_http1_broken_answers_total",
                             "HTTP/1 answers cut off since they could not be completed");
const Counter bad_responses("pqedge_http1_bad_responses_total",
                            "answers of backends that were not valid HTTP/1");
const Counter stray_responses("pqedge_http1_stray_responses_total",
                              "backend connections closed since bytes came that answered nothing");

}  // namespace pqedge::http1::counters
