// What one run of pqcost leaves behind (M15): plain data, written as JSON by record/json.h. The
// JSON's names are the members' own; docs/pqcost-record.schema.json describes them.
//
// A figure that could not be measured is absent, never zero and never estimated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/stats/summary.h"

namespace pqedge::measure {

inline constexpr std::string_view kRecordSchema = "pqcost-record/1";

// ---- where and how (M10) ------------------------------------------------------------------------

struct Library {
  std::string name;
  std::string version;
};

struct CpuFacts {
  std::string model;
  std::string architecture;           // "x86_64", "aarch64"
  std::vector<std::string> features;  // those that cryptographic code looks for: "avx2", ...
  unsigned logical_cores = 0;
  std::optional<bool> smt;
  std::optional<std::string> governor;
  std::optional<double> mhz_before;
  std::optional<double> mhz_after;
  // Environment variables that were set and change which code a library takes:
  // "OPENSSL_ia32cap=...".
  std::vector<std::string> overrides;
};

struct HostFacts {
  std::string name;  // of the host, or what --host-name says
  std::string id;    // equal for runs of one host: a hash, no address
  std::string kernel;
  std::string distribution;
  std::optional<std::string> virtualization;  // "kvm", "none", ...; absent: cannot be told
  CpuFacts cpu;
};

struct NetworkFacts {  // for wire figures only
  std::string congestion_control;
  std::string qdisc;
  std::optional<unsigned> initial_window;       // segments
  std::map<std::string, std::string> offloads;  // "tso": "on", ...
};

// What the host did beside the run; when a limit is passed the run is withheld (M9).
struct NoiseFacts {
  double steal_percent = 0;  // of all CPU time while the run lasted
  double load_before = 0;    // one-minute load average before it began
  double load_after = 0;
  double spread_percent = 0;  // of a reference loop, timed at the start, in the middle, at the end
  // The same between the first and the third quartile of its marks; absent when they are few.
  std::optional<double> quartile_spread_percent;
  std::optional<double> reference_us;  // its median: how fast this host was, from run to run
  std::optional<double> frequency_change_percent;
  uint64_t involuntary_switches = 0;
  std::optional<double> core_steal_percent;  // of the pinned core's time
  std::optional<double> others_percent;      // CPU time of other processes, of all cores' time
  std::optional<double> throttled_percent;   // of the run's time: standing still by a CPU quota
  double load_own = 0;  // the part of load_before that this process's earlier runs left there
  std::vector<std::string> unknown;  // members above that could not be read: their 0 says nothing
};

struct Withheld {  // why figures are not to be compared
  std::string reason;
};

struct Environment {
  std::string date;  // RFC 3339, UTC
  std::string pqcost_version;
  std::string commit;
  std::string compiler;
  std::string compiler_flags;
  std::string command_line;
  std::vector<Library> libraries;
  HostFacts host;
  std::optional<int> pinned_core;
  std::string clock_source;
  double clock_resolution_ns = 0;
  double clock_overhead_ns = 0;
  NoiseFacts noise;
  std::optional<NetworkFacts> network;
};

// ---- handshakes, signatures, bulk (M1 to M5, M7, M8, M23) ---------------------------------------

struct PhaseRecord {
  std::string name;   // "KEM keygen", "Classical derive", ...
  std::string side;   // "client", "server", "both"
  double weight = 1;  // how often the exchange does it
  Summary figures;
  std::vector<double> samples_us;  // written only with --samples, or to the CSV beside
};

struct WireBytes {
  size_t client_to_server = 0;
  size_t server_to_client = 0;
  size_t total() const { return client_to_server + server_to_client; }
};

struct WireDetail {  // one more way of counting, by name: "whole SSH packets", "IKE_SA_INIT at
                     // 1280"
  std::string name;
  WireBytes bytes;
  std::optional<unsigned> fragments;
  std::string source;  // RFC and section
};

struct SuiteRecord {
  std::string name;      // the protocol's own name of the group, method or scheme
  std::string family;    // family_name() of primitive.h
  std::string provider;  // of the primitives timed
  std::string provider_version;
  std::string code;  // "portable C", "AVX2", ...: what ran
  std::string keys;  // "parsed", "expanded"
  bool baseline = false;
  std::optional<unsigned> code_point;  // TLS group, IKEv2 transform ID
  std::string note;                    // "discouraged alone over UDP", "round 3, not FN-DSA", ...
  std::vector<PhaseRecord> phases;
  // Paired by index; the second keygen and derive drawn from their own samples (M7).
  std::optional<Summary> composed;
  std::optional<Summary> client;  // the client's share of it
  std::optional<Summary> server;
  std::optional<Summary> end_to_end;  // the same exchange in one loop, both sides in this process
  std::optional<double> end_to_end_ratio;  // end_to_end median over composed median
  std::optional<Ratio> against_baseline;   // of composed medians, same run
  WireBytes wire_bytes;
  std::vector<WireDetail> wire_details;
  std::map<std::string, size_t> sizes;  // "public_key", "spki", "signature", ...
  std::optional<Withheld> withheld;
  std::string absent;  // not empty: no provider offers it, with the reason
};

struct ThroughputRecord {  // M24
  std::string suite;
  std::string provider;
  unsigned threads = 0;
  double per_second = 0;
  double per_second_per_thread = 0;
};

struct TrackRecord {
  std::string name;  // "tls", "ssh", "ipsec", "signatures", "bulk"
  std::string title;
  std::vector<SuiteRecord> suites;
  std::vector<ThroughputRecord> throughput;
};

// ---- chains and first flights (M12, M13) --------------------------------------------------------

struct ChainRecord {
  std::string name;  // "ML-DSA-44", "ML-DSA-65 issuer, ECDSA P-256 leaf", ...
  std::string leaf_algorithm;
  std::string intermediate_algorithm;
  std::string root_algorithm;
  size_t leaf_der = 0;
  size_t intermediate_der = 0;
  size_t certificate_message = 0;  // the handshake message, header included
  std::optional<size_t> compressed_message;
  std::string compression;
  unsigned scts = 0;
  bool staple = false;
  bool client_certificate = false;
  std::optional<double> multiple_of_p256;  // of leaf + intermediate DER
  std::map<std::string, size_t> savings;   // "intermediate left out", ...: bytes
  std::map<std::string, size_t> parts;     // bytes inside: "leaf public key", "SCTs", "staple", ...
  std::map<std::string, size_t> compressed;  // the message in each encoding of RFC 8879
  std::string profile;                       // names and extensions, in words
  bool captured = false;                     // a handshake really sent it
  std::string note;
};

// One window against one flight; FlightRecord's own members are the first of them.
struct WindowVerdict {
  size_t segment = 0;
  size_t window = 0;
  std::string rule;
  bool fits = false;
  unsigned extra_round_trips = 0;
};

struct FlightRecord {
  std::string chain;
  std::string transport;  // "tcp", "quic"
  std::string group;
  size_t client_hello = 0;              // the message's bytes
  size_t client_datagrams = 0;          // QUIC: those of the first flight
  size_t server_flight = 0;             // bytes of TLS records (TCP) or datagrams (QUIC), captured
  std::map<std::string, size_t> parts;  // by handshake message, and "record overhead"
  size_t segment = 0;                   // bytes of payload a segment or datagram
  size_t window = 0;                    // bytes allowed before an acknowledgement
  std::string window_rule;              // "10 x 1460 (RFC 6928)", "3 x 2400 (RFC 9000 8.1)"
  bool fits = false;
  unsigned extra_round_trips = 0;
  std::vector<WindowVerdict> windows;
  size_t client_flight = 0;  // the client's next bytes: certificate, Finished, ...
  std::string note;
};

// ---- tokens (M14) and limits (M20) --------------------------------------------------------------

struct TokenRecord {
  std::string algorithm;    // the JOSE name
  bool registered = false;  // false: a draft's name
  size_t header = 0;        // base64url characters of each part
  size_t payload = 0;
  size_t signature = 0;
  size_t total = 0;          // with the two dots
  size_t signature_raw = 0;  // bytes before base64url
  double multiple_of_es256 = 0;
  std::map<std::string, size_t> first_request;  // by "hpack", "qpack": encoded bytes
  std::map<std::string, size_t> following_request;
  std::vector<std::string> fits_in;  // limits by name
  std::vector<std::string> too_large_for;
  // Bytes on HTTP/1.1: "authorization line", "cookie", "request line", ...
  std::map<std::string, size_t> forms;
  std::string note;
};

struct DocumentedLimitRecord {
  std::string name;  // as in TokenRecord::fits_in
  size_t bytes = 0;
  std::string counts;  // what is counted against it
  std::string answer;  // what happens above it
  std::string source;
};

struct LimitRecord {  // M20: a real program asked with its default settings
  std::string software;
  std::string version;
  std::string http_version;
  std::string what;  // "ML-DSA-65 bearer token", "cookie of 4,097 bytes"
  size_t bytes = 0;
  std::string outcome;  // "200", "431", "connection closed", ...
  std::string documented_limit;
  std::string source;
};

// ---- on the wire (M18, M19) ---------------------------------------------------------------------

struct LiveRecord {
  std::string target;
  std::string transport;             // "tls", "quic", "ssh"
  std::optional<std::string> group;  // read from the wire
  std::optional<unsigned> group_code;
  bool hello_retry_request = false;
  std::string cipher;
  std::string signature;
  WireBytes bytes;
  WireBytes packets;  // absent figures are 0 with packets_known false
  bool packets_known = false;
  std::map<std::string, size_t> sizes;     // "client_hello", "key_share_client", "certificate", ...
  std::map<std::string, double> times_us;  // "connect", "server_hello", "finished", ...
  std::string outcome;                     // "handshake", or what ended it
  std::map<std::string, std::string> scenario;  // settings of the link, when over the emulator
  // What else was seen, and how each figure was taken: "address", "alpn", "alert", "packets", ...
  std::map<std::string, std::string> facts;
};

// One variant of a scenario, over all its seeds (M19). The single handshakes are in Record::live.
struct ScenarioRecord {
  std::string scenario;                         // "retry", "loss", ...
  std::string variant;                          // "X25519MLKEM768 alone, classical server"
  std::map<std::string, std::string> settings;  // link, peer, client
  std::string emulator;                         // its name, and how its own delay was measured
  double added_delay_us = 0;                    // by the emulator, one way, median
  double added_delay_p99_us = 0;
  std::vector<uint64_t> seeds;
  std::map<std::string, size_t> outcomes;  // handshakes by outcome
  std::map<std::string, Range> times_us;   // of those that succeeded
  std::map<std::string, Range> bytes;      // "client_to_server", ...
};

// Load from one generator (M22). With `open` true the requests went out at their appointed times,
// and latencies count from those: they are free of coordinated omission.
struct LoadRecord {
  std::string url;
  std::string protocol;  // "h1", "h2", "h3"
  bool open = false;
  double rate = 0;               // requests a second that were appointed
  bool connection_each = false;  // each request on a connection of its own
  double resumption_asked = 0;   // share of the handshakes
  size_t connections = 0;
  size_t streams = 0;   // requests in flight on one connection
  double window_s = 0;  // measured
  size_t requests = 0;  // answered in it
  size_t failed = 0;
  std::map<std::string, size_t> failures;
  std::string first_failure;
  std::map<std::string, size_t> statuses;
  size_t handshakes = 0;
  size_t handshakes_in_window = 0;
  size_t resumed = 0;
  std::string group;  // of the first handshake, as OpenSSL reports it
  std::string cipher;
  size_t backlog_most = 0;  // appointed requests that waited for a connection at once
  std::map<std::string, double> latency_us;       // from the appointed time: "p50", ..., "max"
  std::map<std::string, double> service_time_us;  // from when a connection took the request
  std::map<std::string, double> handshake_us;
  // The latencies' histogram: upper ends of buckets, each less than 1 % wide, and counts; empty
  // ones are left out.
  std::vector<double> histogram_upper_us;
  std::vector<uint64_t> histogram_count;
  size_t bytes_sent = 0;  // of TCP or UDP payload, in the window
  size_t bytes_received = 0;
  size_t datagrams_sent = 0;  // HTTP/3
  size_t datagrams_received = 0;
  double generator_cpu_s = 0;  // in the window: a generator without CPU left measures itself
};

// ---- the whole ----------------------------------------------------------------------------------

struct KnownAnswerRecord {
  std::string provider, algorithm, source;
  bool passed = false;
  std::string detail;
};

struct AbsentRecord {
  std::string provider, algorithm, reason;
};

struct Record {
  std::string schema{kRecordSchema};
  std::string id;  // random, 128 bits in hex
  Environment environment;
  std::optional<Withheld> withheld;  // the whole run
  bool complete = true;              // false: interrupted, holds what was measured
  std::vector<TrackRecord> tracks;
  std::vector<ChainRecord> chains;
  std::vector<FlightRecord> flights;
  std::vector<TokenRecord> tokens;
  std::string token_claims;  // the claims as signed
  std::vector<DocumentedLimitRecord> documented_limits;
  std::vector<LimitRecord> limits;
  std::vector<LiveRecord> live;
  std::vector<ScenarioRecord> scenarios;
  std::vector<LoadRecord> loads;
  std::vector<KnownAnswerRecord> known_answers;
  std::vector<AbsentRecord> absent;
};

}  // namespace pqedge::measure
