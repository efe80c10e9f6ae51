// One whole configuration as the data plane takes it. Filled by `config`, or by code (the embedded
// default). Each part belongs to its module.
#pragma once

#include <string>
#include <vector>

#include "content/error_pages.h"
#include "crypto/settings.h"
#include "edge/passthrough_settings.h"
#include "edge/stream_settings.h"
#include "http/limits.h"
#include "http/rules.h"
#include "jobs/acme/settings.h"
#include "net/address.h"
#include "record/settings.h"
#include "route/settings.h"
#include "upstream/settings.h"
#include "wire/quic/settings.h"

namespace pqedge::edge {

struct ListenerSettings {
  std::string name;
  std::vector<net::Address> addresses;
  bool tls = true;
  bool http1 = true;
  bool http2 = true;  // needs tls
  bool http3 = true;  // needs tls; binds the same port on UDP
  bool tcp = false;   // no HTTP: connections go to stream.pool; with tls, decrypted
  bool udp = false;   // datagrams do
  StreamSettings stream;
  bool takes_stream() const { return !stream.pool.empty(); }
  bool binds_tcp() const { return http1 || http2 || http3 || tcp; }
  bool binds_udp() const { return http3 || udp; }
  bool redirect_to_https = false;  // plain only: every request gets 308
  uint16_t redirect_port = 443;
  // "a.test", "*.a.test": a request for another host gets 421. Empty: every host is redirected.
  std::vector<std::string> redirect_hosts;
  bool v6_only = false;
  // TCP: peers that begin with a PROXY header (balancers). Without one they are closed; what others
  // send is never taken for one.
  std::vector<net::Network> proxy_from;
};

struct DebugSettings {      // only by an explicit flag, for one client address
  std::string client;       // IP; empty: off
  std::string keylog_file;  // SSLKEYLOGFILE format
  std::string qlog_dir;
};

struct Settings {
  std::string source;    // the file, or "the embedded default", for messages
  uint32_t workers = 0;  // 0: one for each CPU this process may use
  std::vector<ListenerSettings> listeners;
  crypto::TlsSettings tls;                               // the default policy
  std::vector<crypto::HostPolicySettings> tls_policies;  // of hosts with one of their own
  crypto::ProviderSettings crypto;                       // changes with a restart
  crypto::SigningSettings signing;
  bool watch_certificates = true;  // their files are read again when they change
  acme::Settings acme;
  http::Limits limits;
  http::IdentitySettings identity;
  std::vector<upstream::PoolSettings> pools;
  std::vector<route::RouteSettings> routes;
  route::HeaderSettings header_rules;  // of every route, before its own
  std::vector<content::ErrorPageSettings> error_pages;
  std::vector<PassthroughSettings> passthroughs;
  quic::Settings quic;
  record::LogSettings logs;
  uint32_t max_connections = 100'000;  // client connections in the process
  Nanos drain_timeout = 30 * kSecond;  // SIGTERM: what still runs then is cut
  Nanos drain_linger = 2 * kSecond;    // idle HTTP/1.1 and HTTP/3 connections stay that long
  Nanos upgrade_drain_timeout = 600 * kSecond;  // the same of the process that an upgrade replaced
  bool watch_config = false;                    // the file is read again when it changes
  std::string pid_file;                         // of the process that serves; empty: none
  DebugSettings debug;
};

}  // namespace pqedge::edge
