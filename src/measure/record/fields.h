// Every member of the record with its name in JSON and a line about it: the writer, the reader, the
// checks, the schema and the tests all walk these lists, so that they cannot differ.
//
// A visitor has: v(name, member, about); v.when_any(...), a list left out when it is empty;
// v.nullable(...), an optional figure written as null; v.any_sign(...), a figure that may be
// negative; v.derived(name, value, about), written and checked but held by no member.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "measure/record/record.h"

namespace pqedge::measure {

template <typename R, typename T>
concept Is = std::same_as<std::remove_const_t<R>, T>;

template <typename V>
void fields(V& v, Is<Library> auto& r) {
  v("name", r.name, "");
  v("version", r.version, "");
}

template <typename V>
void fields(V& v, Is<CpuFacts> auto& r) {
  v("model", r.model, "As the kernel names it.");
  v("architecture", r.architecture, "x86_64, aarch64, ...");
  v("features", r.features, "Instruction sets that cryptographic code looks for.");
  v("logical_cores", r.logical_cores, "");
  v("smt", r.smt, "Whether cores share hardware threads.");
  v("governor", r.governor, "Of the frequency.");
  v("mhz_before", r.mhz_before, "Of the core in use, before the run.");
  v("mhz_after", r.mhz_after, "");
  v("overrides", r.overrides, "Environment variables that change which code a library takes.");
}

template <typename V>
void fields(V& v, Is<HostFacts> auto& r) {
  v("name", r.name, "");
  v("id", r.id, "Equal for runs of one host.");
  v("kernel", r.kernel, "");
  v("distribution", r.distribution, "");
  v("virtualization", r.virtualization, "Absent: cannot be told.");
  v("cpu", r.cpu, "");
}

template <typename V>
void fields(V& v, Is<NetworkFacts> auto& r) {
  v("congestion_control", r.congestion_control, "");
  v("qdisc", r.qdisc, "");
  v("initial_window", r.initial_window, "Segments.");
  v("offloads", r.offloads, "By name: on, off.");
}

template <typename V>
void fields(V& v, Is<NoiseFacts> auto& r) {
  v("steal_percent", r.steal_percent, "Of all CPU time while the run lasted.");
  v("load_before", r.load_before, "One-minute load average.");
  v("load_after", r.load_after, "");
  v("spread_percent", r.spread_percent, "Of a reference loop timed during the run.");
  v("quartile_spread_percent", r.quartile_spread_percent,
    "The same from the first to the third quartile; absent when it was timed less than 8 times.");
  v("reference_us", r.reference_us, "The reference loop's median: how fast the host was.");
  v.any_sign("frequency_change_percent", r.frequency_change_percent, "From before to after.");
  v("involuntary_switches", r.involuntary_switches, "Context switches forced on the run.");
  v("core_steal_percent", r.core_steal_percent, "Of the pinned core's time.");
  v("others_percent", r.others_percent, "Other processes' CPU time, of all cores' time.");
  v("throttled_percent", r.throttled_percent,
    "Of the run's time: standing still by a CPU quota of its control group.");
  v("load_own", r.load_own, "The part of load_before left by this process's earlier runs.");
  v("unknown", r.unknown, "Members that could not be read: their 0 says nothing.");
}

template <typename V>
void fields(V& v, Is<Withheld> auto& r) {
  v("reason", r.reason, "Why the figures are not to be compared.");
}

template <typename V>
void fields(V& v, Is<Environment> auto& r) {
  v("date", r.date, "RFC 3339, UTC.");
  v("pqcost_version", r.pqcost_version, "");
  v("commit", r.commit, "");
  v("compiler", r.compiler, "");
  v("compiler_flags", r.compiler_flags, "");
  v("command_line", r.command_line, "");
  v("libraries", r.libraries, "");
  v("host", r.host, "");
  v("pinned_core", r.pinned_core, "Absent: not pinned.");
  v("clock_source", r.clock_source, "");
  v("clock_resolution_ns", r.clock_resolution_ns, "The smallest step seen.");
  v("clock_overhead_ns", r.clock_overhead_ns, "Of one reading, subtracted from each sample.");
  v("noise", r.noise, "");
  v("network", r.network, "With wire figures only.");
}

template <typename V>
void fields(V& v, Is<Summary> auto& r) {
  v("iterations", r.iterations, "");
  v("mean_us", r.mean_us, "");
  v("median_us", r.median_us, "");
  v("p95_us", r.p95_us, "Nearest rank.");
  v.nullable("p99_us", r.p99_us, "Null below 100 iterations.");
  v("stdev_us", r.stdev_us, "Of the sample.");
  v("min_us", r.min_us, "");
  v("max_us", r.max_us, "");
  v("mean_ci95_us", r.mean_ci95_us, "Half the width of the mean's 95 % interval.");
  v("tail", r.tail, "max_us over mean_us.");
  v("ops_per_second", r.ops_per_second, "A million over mean_us.");
}

template <typename V>
void fields(V& v, Is<PhaseRecord> auto& r) {
  v("name", r.name, "");
  v("side", r.side, "client, server or both.");
  v("weight", r.weight, "How often the exchange does it.");
  fields(v, r.figures);
  v.when_any("samples_us", r.samples_us, "In the order taken; kept only on demand.");
}

template <typename V>
void fields(V& v, Is<WireBytes> auto& r) {
  v("client_to_server", r.client_to_server, "");
  v("server_to_client", r.server_to_client, "");
}

template <typename V>
void fields(V& v, Is<WireDetail> auto& r) {
  v("name", r.name, "Of this way of counting.");
  v("bytes", r.bytes, "");
  v("fragments", r.fragments, "");
  v("source", r.source, "RFC and section.");
}

template <typename V>
void fields(V& v, Is<Ratio> auto& r) {
  v("value", r.value, "");
  v("ci95", r.ci95, "The 95 % interval by bootstrap.");
}

template <typename V>
void fields(V& v, Is<Range> auto& r) {
  v("median", r.median, "");
  v("low", r.low, "");
  v("high", r.high, "");
  v("runs", r.runs, "");
}

template <typename V>
void fields(V& v, Is<SuiteRecord> auto& r) {
  v("name", r.name, "The protocol's own name of the group, method or scheme.");
  v("family", r.family, "classical, lattice, hybrid, hash-based, ...");
  v("provider", r.provider, "The library that was timed.");
  v("provider_version", r.provider_version, "");
  v("code", r.code, "Which code ran: portable C, AVX2, ...");
  v("keys", r.keys, "How keys are held while timed.");
  v("baseline", r.baseline, "Others of the track are compared with it.");
  v("code_point", r.code_point, "TLS group or IKEv2 transform.");
  v("note", r.note, "");
  v("phases", r.phases, "Each timed in a loop of its own.");
  v("composed", r.composed, "The phases by weight: paired samples, not one loop.");
  v("client", r.client, "The client's share of it.");
  v("server", r.server, "");
  v("end_to_end", r.end_to_end, "The same exchange in one loop, both sides in one process.");
  v("end_to_end_ratio", r.end_to_end_ratio, "Its median over the composed median.");
  v("against_baseline", r.against_baseline, "Of medians of the same run.");
  v.derived("wire_bytes", r.wire_bytes.total(), "Both directions.");
  v("wire_bytes_by_direction", r.wire_bytes, "");
  v("wire_details", r.wire_details, "Other ways of counting.");
  v("sizes", r.sizes, "Bytes by name: public_key, signature, ...");
  v("withheld", r.withheld, "");
  v("absent", r.absent, "Not empty: no provider offers it, and why.");
}

template <typename V>
void fields(V& v, Is<ThroughputRecord> auto& r) {
  v("suite", r.suite, "");
  v("provider", r.provider, "");
  v("threads", r.threads, "");
  v("per_second", r.per_second, "All threads together.");
  v("per_second_per_thread", r.per_second_per_thread, "");
}

template <typename V>
void fields(V& v, Is<TrackRecord> auto& r) {
  v("name", r.name, "tls, ssh, ipsec, signatures, bulk.");
  v("title", r.title, "");
  v("suites", r.suites, "");
  v("throughput", r.throughput, "");
}

template <typename V>
void fields(V& v, Is<ChainRecord> auto& r) {
  v("name", r.name, "");
  v("leaf_algorithm", r.leaf_algorithm, "");
  v("intermediate_algorithm", r.intermediate_algorithm, "");
  v("root_algorithm", r.root_algorithm, "");
  v("leaf_der", r.leaf_der, "Bytes.");
  v("intermediate_der", r.intermediate_der, "Bytes.");
  v("certificate_message", r.certificate_message, "Bytes, with the handshake header.");
  v("compressed_message", r.compressed_message, "Bytes.");
  v("compression", r.compression, "");
  v("scts", r.scts, "");
  v("staple", r.staple, "");
  v("client_certificate", r.client_certificate, "");
  v("multiple_of_p256", r.multiple_of_p256, "Of leaf and intermediate in DER.");
  v("savings", r.savings, "Bytes by what would be left out.");
  v("parts", r.parts, "Bytes inside the message, by what they are.");
  v("compressed", r.compressed, "The message in each encoding of RFC 8879.");
  v("profile", r.profile, "Names and extensions, in words.");
  v("captured", r.captured, "A handshake really sent it.");
  v("note", r.note, "");
}

template <typename V>
void fields(V& v, Is<WindowVerdict> auto& r) {
  v("segment", r.segment, "Payload of a segment or datagram.");
  v("window", r.window, "Bytes allowed before an acknowledgement.");
  v("rule", r.rule, "");
  v("fits", r.fits, "");
  v("extra_round_trips", r.extra_round_trips, "");
}

template <typename V>
void fields(V& v, Is<FlightRecord> auto& r) {
  v("chain", r.chain, "");
  v("transport", r.transport, "tcp or quic.");
  v("group", r.group, "");
  v("client_hello", r.client_hello, "Bytes of the message.");
  v("client_datagrams", r.client_datagrams, "QUIC: of the first flight.");
  v("server_flight", r.server_flight, "Bytes of TLS records, or of datagrams, as captured.");
  v("parts", r.parts, "Bytes by handshake message.");
  v("segment", r.segment, "Payload of a segment or datagram.");
  v("window", r.window, "Bytes allowed before an acknowledgement.");
  v("window_rule", r.window_rule, "");
  v("fits", r.fits, "");
  v("extra_round_trips", r.extra_round_trips, "");
  v("windows", r.windows, "All windows it was held against, this one first.");
  v("client_flight", r.client_flight, "The client's next bytes: certificate, Finished, ...");
  v("note", r.note, "");
}

template <typename V>
void fields(V& v, Is<TokenRecord> auto& r) {
  v("algorithm", r.algorithm, "The JOSE name.");
  v("registered", r.registered, "False: a draft's name.");
  v("header", r.header, "base64url characters.");
  v("payload", r.payload, "");
  v("signature", r.signature, "");
  v("total", r.total, "With the two dots.");
  v("signature_raw", r.signature_raw, "Bytes before base64url.");
  v("multiple_of_es256", r.multiple_of_es256, "");
  v("first_request", r.first_request, "Encoded bytes by hpack, qpack.");
  v("following_request", r.following_request, "");
  v("fits_in", r.fits_in, "Limits by name.");
  v("too_large_for", r.too_large_for, "");
  v("forms", r.forms, "Bytes on HTTP/1.1 by where it stands.");
  v("note", r.note, "");
}

template <typename V>
void fields(V& v, Is<DocumentedLimitRecord> auto& r) {
  v("name", r.name, "");
  v("bytes", r.bytes, "");
  v("counts", r.counts, "What is counted against it.");
  v("answer", r.answer, "What happens above it.");
  v("source", r.source, "");
}

template <typename V>
void fields(V& v, Is<LimitRecord> auto& r) {
  v("software", r.software, "");
  v("version", r.version, "");
  v("http_version", r.http_version, "");
  v("what", r.what, "");
  v("bytes", r.bytes, "");
  v("outcome", r.outcome, "The status, or what happened.");
  v("documented_limit", r.documented_limit, "");
  v("source", r.source, "");
}

template <typename V>
void fields(V& v, Is<LiveRecord> auto& r) {
  v("target", r.target, "");
  v("transport", r.transport, "tls, quic or ssh.");
  v("group", r.group, "Read from the wire.");
  v("group_code", r.group_code, "");
  v("hello_retry_request", r.hello_retry_request, "");
  v("cipher", r.cipher, "");
  v("signature", r.signature, "");
  v("bytes", r.bytes, "");
  v("packets", r.packets, "");
  v("packets_known", r.packets_known, "");
  v("sizes", r.sizes, "Bytes by name.");
  v("times_us", r.times_us, "By event.");
  v("outcome", r.outcome, "handshake, or what ended it.");
  v("scenario", r.scenario, "Settings of the link, when it was emulated.");
  v("facts", r.facts, "What else was seen, and how figures were taken.");
}

template <typename V>
void fields(V& v, Is<ScenarioRecord> auto& r) {
  v("scenario", r.scenario, "");
  v("variant", r.variant, "");
  v("settings", r.settings, "");
  v("emulator", r.emulator, "");
  v("added_delay_us", r.added_delay_us, "By the emulator, one way, median.");
  v("added_delay_p99_us", r.added_delay_p99_us, "");
  v("seeds", r.seeds, "");
  v("outcomes", r.outcomes, "Handshakes by outcome.");
  v("times_us", r.times_us, "Of those that succeeded.");
  v("bytes", r.bytes, "");
}

template <typename V>
void fields(V& v, Is<LoadRecord> auto& r) {
  v("url", r.url, "");
  v("protocol", r.protocol, "h1, h2 or h3.");
  v("open", r.open, "Requests went out at appointed times, from which latencies count.");
  v("rate", r.rate, "Requests a second that were appointed.");
  v("connection_each", r.connection_each, "");
  v("resumption_asked", r.resumption_asked, "Share of the handshakes.");
  v("connections", r.connections, "");
  v("streams", r.streams, "");
  v("window_s", r.window_s, "");
  v("requests", r.requests, "Answered in the window.");
  v("failed", r.failed, "");
  v("failures", r.failures, "");
  v("first_failure", r.first_failure, "");
  v("statuses", r.statuses, "");
  v("handshakes", r.handshakes, "");
  v("handshakes_in_window", r.handshakes_in_window, "");
  v("resumed", r.resumed, "");
  v("group", r.group, "As OpenSSL reports it.");
  v("cipher", r.cipher, "");
  v("backlog_most", r.backlog_most, "Appointed requests that waited for a connection at once.");
  v("latency_us", r.latency_us, "From the appointed time.");
  v("service_time_us", r.service_time_us, "From when a connection took the request.");
  v("handshake_us", r.handshake_us, "");
  v("histogram_upper_us", r.histogram_upper_us, "Upper ends of the latencies' buckets.");
  v("histogram_count", r.histogram_count, "");
  v("bytes_sent", r.bytes_sent, "");
  v("bytes_received", r.bytes_received, "");
  v("datagrams_sent", r.datagrams_sent, "");
  v("datagrams_received", r.datagrams_received, "");
  v("generator_cpu_s", r.generator_cpu_s, "");
}

template <typename V>
void fields(V& v, Is<KnownAnswerRecord> auto& r) {
  v("provider", r.provider, "");
  v("algorithm", r.algorithm, "");
  v("source", r.source, "Of the published vector.");
  v("passed", r.passed, "");
  v("detail", r.detail, "");
}

template <typename V>
void fields(V& v, Is<AbsentRecord> auto& r) {
  v("provider", r.provider, "");
  v("algorithm", r.algorithm, "");
  v("reason", r.reason, "");
}

template <typename V>
void fields(V& v, Is<Record> auto& r) {
  v("schema", r.schema, "");
  v("id", r.id, "128 random bits in hexadecimal.");
  v("environment", r.environment, "Where and how it was measured.");
  v("withheld", r.withheld, "The whole run.");
  v("complete", r.complete, "False: interrupted, holds what was measured.");
  v("tracks", r.tracks, "");
  v("chains", r.chains, "");
  v("flights", r.flights, "");
  v("tokens", r.tokens, "");
  v("token_claims", r.token_claims, "As signed.");
  v("documented_limits", r.documented_limits, "");
  v("limits", r.limits, "Real programs, asked with default settings.");
  v("live", r.live, "Handshakes with real servers.");
  v("scenarios", r.scenarios, "");
  v("loads", r.loads, "From the load generator.");
  v("known_answers", r.known_answers, "Checked before anything was timed.");
  v("absent", r.absent, "What is not measured, and why.");
}

// Whether T is one of the structs above.
struct FieldProbe {
  template <typename T>
  void operator()(std::string_view, T&, std::string_view) {}
  template <typename T>
  void when_any(std::string_view, T&, std::string_view) {}
  template <typename T>
  void nullable(std::string_view, T&, std::string_view) {}
  template <typename T>
  void any_sign(std::string_view, T&, std::string_view) {}
  void derived(std::string_view, size_t, std::string_view) {}
};
template <typename T>
concept Described = requires(FieldProbe& v, T& r) { fields(v, r); };

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_map = false;
template <typename T>
inline constexpr bool is_map<std::map<std::string, T>> = true;

}  // namespace pqedge::measure
