#include "config/sections.h"

#include <format>

#include "config/section_readers.h"

namespace pqedge::config {
namespace {

void read_version(Table& root) {
  uint32_t version = 1;
  const size_t before = root.reading().problems.size();
  root.require("version", "write version = 1 at the top of the file");
  root.count("version", version);
  if (version != 1 && root.reading().problems.size() == before) {
    root.problem("version", std::format("{} is not known to this program", version),
                 "this program reads version 1");
  }
}

void read_server(Table& t, edge::Settings& s) {
  t.count("workers", s.workers);
  t.count("max_connections", s.max_connections);
  t.duration("drain_timeout", s.drain_timeout);
  t.duration("drain_linger", s.drain_linger);
  read_process(t, s);
}

void read_networks(Table& t, std::string_view key, std::vector<net::Network>& out) {
  t.each_string(key, [&](const std::string& path, const std::string& text) {
    if (const auto network = net::Network::parse(text)) {
      out.push_back(*network);
    } else {
      t.problem(path, network.error().message);
    }
  });
}

void read_listener(Table& t, size_t index, edge::ListenerSettings& l) {
  l.name = std::format("listener-{}", index + 1);
  t.read("name", l.name);
  t.addresses("address", l.addresses);
  t.read("tls", l.tls);
  t.read("redirect_to_https", l.redirect_to_https);
  t.count("redirect_port", l.redirect_port);
  t.strings("redirect_hosts", l.redirect_hosts);
  t.read("v6_only", l.v6_only);
  read_networks(t, "proxy_from", l.proxy_from);

  l.http2 = l.http3 = l.tls;
  // HTTP/3 is not offered by default where it cannot be: on a Unix socket.
  for (const net::Address& address : l.addresses) l.http3 &= !address.is_unix();
  if (t.has("protocols")) l.http1 = l.http2 = l.http3 = false;
  t.choices<bool edge::ListenerSettings::*>("protocols",
                                            {{"http/1.1", &edge::ListenerSettings::http1},
                                             {"h2", &edge::ListenerSettings::http2},
                                             {"h3", &edge::ListenerSettings::http3},
                                             {"tcp", &edge::ListenerSettings::tcp},
                                             {"udp", &edge::ListenerSettings::udp}},
                                            [&](auto protocol) { l.*protocol = true; });
  read_listener_stream(t, l);
  for (const char* key : {"redirect_port", "redirect_hosts"}) {
    if (t.has(key) && !l.redirect_to_https) {
      t.problem(t.key_path(key), "has no effect without redirect_to_https = true");
    }
  }
}

void read_tls(Table& t, crypto::TlsSettings& s) {
  read_policy(t, s);
  t.read("strict_key_files", s.strict_key_files);
  t.table("ech", [&](Table& ech) { read_ech(ech, s.ech); });
  read_tickets(t, s);
  t.duration("handshake_timeout", s.handshake_timeout);
  read_stapling(t, s);
}

void read_pool(Table& t, upstream::PoolSettings& s) {
  t.require("name");
  t.read("name", s.name);
  read_servers(t, s);
  read_balance(t, s);
  t.duration("connect_timeout", s.connect_timeout);
  t.duration("response_timeout", s.response_timeout);
  t.duration("read_timeout", s.read_timeout);
  t.duration("idle_timeout", s.idle_timeout);
  t.count("max_idle", s.max_idle);
  t.count("max_connections", s.max_connections);
  t.choice<uint8_t>("send_proxy", s.send_proxy, {{"off", 0}, {"v1", 1}, {"v2", 2}});
  read_pool_forward(t, s);
  read_backend_tls(t, s);
  read_protocol(t, s);
  read_standing(t, s);
  read_discovery(t, s);
}

void read_route(Table& t, size_t index, route::RouteSettings& s) {
  s.name = std::format("route-{}", index + 1);
  t.read("name", s.name);
  read_route_match(t, s);
  read_route_shape(t, s);
  read_route_forward(t, s.forward);
  read_route_tunnel(t, s);
  t.read("pool", s.pool);
  t.count("status", s.answer_status);
  t.read("body", s.answer_body);
  t.read("redirect_to_https", s.redirect_https);
  t.count("redirect_port", s.redirect_port);
  t.size("max_body", s.max_body);
  read_route_early_hints(t, s);
  read_route_clients(t, s);
  t.choice<http::EncodedSlash>(
      "encoded_slash", s.encoded_slash,
      {{"keep", http::EncodedSlash::keep}, {"refuse", http::EncodedSlash::refuse}});
  if (t.has("redirect_port") && !s.redirect_https) {
    t.problem(t.key_path("redirect_port"), "has no effect without redirect_to_https = true");
  }
  for (const char* key : {"path", "hosts", "pool"}) {
    const bool is_empty = std::string_view(key) == "path"   ? s.path.empty()
                          : std::string_view(key) == "pool" ? s.pool.empty()
                                                            : s.hosts.empty();
    if (t.has(key) && is_empty) {
      t.problem(t.key_path(key), "is empty", "leave it out, or give it a value");
    }
  }
}

void read_limits(Table& t, http::Limits& s) {
  t.size("max_target", s.max_target);
  t.size("max_head", s.max_head);
  t.count("max_fields", s.max_fields);
  t.size("max_trailers", s.max_trailers);
  t.size("max_body", s.max_body);
  t.count("max_requests", s.max_requests);
  t.count("max_streams", s.max_streams);
  t.size("max_response_head", s.max_response_head);
  t.size("body_window", s.body_window);
  t.size("connection_window", s.connection_window);
}

void read_timeouts(Table& t, http::Limits& s) {
  t.duration("header", s.header_timeout);
  t.duration("idle", s.idle_timeout);
  t.duration("body", s.body_timeout);
  t.duration("send", s.send_timeout);
  t.duration("linger", s.linger_timeout);
}

void read_identity(Table& t, http::IdentitySettings& s) {
  read_networks(t, "trusted_proxies", s.trusted_proxies);
  t.read("forwarded", s.forwarded);
  t.read("x_forwarded", s.x_forwarded);
  t.read("tls_fields", s.tls_fields);
  t.read("via", s.via);
  t.strings("protected_fields", s.protected_fields);
}

// A log's file: "-" is a stream of the process, and stays as it is.
void read_log(Table& t, std::string_view key, std::string& out) {
  std::string text;
  t.read(key, text);
  if (text == "-") {
    out = text;
  } else if (text.empty() && t.has(key)) {
    out.clear();
  } else {
    t.path(key, out);
  }
}

void read_logging(Table& t, record::LogSettings& s) {
  read_log(t, "access", s.access_file);
  read_log(t, "error", s.error_file);
  if (s.error_file == "-") s.error_file.clear();
  t.choice<log::Level>("level", s.level,
                       {{"debug", log::Level::debug},
                        {"info", log::Level::info},
                        {"warning", log::Level::warning},
                        {"error", log::Level::error}});
  t.count("queue", s.queue);
}

void read_admin(Table& t, admin::Settings& s) {
  t.addresses("listen", s.listen);
  t.strings("hosts", s.hosts);
  t.path("control_socket", s.control_socket);
  t.path("token_file", s.token_file);
}

void read_quic(Table& t, quic::Settings& s) {
  using Retry = quic::Settings::Retry;
  t.choice<Retry>(
      "retry", s.retry,
      {{"never", Retry::never}, {"under_load", Retry::under_load}, {"always", Retry::always}});
  t.count("retry_above", s.retry_above);
  t.read("active_migration", s.active_migration);
  t.duration("idle_timeout", s.idle_timeout);
  t.duration("handshake_timeout", s.handshake_timeout);
  t.size("stream_window", s.stream_window);
  t.size("stream_window_max", s.stream_window_max);
  t.size("connection_window", s.connection_window);
  t.size("connection_window_max", s.connection_window_max);
  t.read("gso", s.gso);
  t.read("gro", s.gro);
  t.choice<std::string>("congestion_control", s.congestion_control,
                        {{"cubic", "cubic"}, {"reno", "reno"}, {"bbr", "bbr"}});
  t.size("receive_buffer", s.receive_buffer);
  t.size("send_buffer", s.send_buffer);
}

void read_debug(Table& t, edge::DebugSettings& s) {
  t.read("client", s.client);
  t.path("keylog_file", s.keylog_file);
  t.path("qlog_dir", s.qlog_dir);
}

}  // namespace

void read_document(Table& root, Configuration& out) {
  edge::Settings& edge = out.edge;
  read_version(root);
  root.table("server", [&](Table& t) { read_server(t, edge); });
  root.tables("listener",
              [&](Table& t, size_t i) { read_listener(t, i, edge.listeners.emplace_back()); });
  root.table("tls", [&](Table& t) {
    read_tls(t, edge.tls);
    t.read("watch_certificates", edge.watch_certificates);
  });
  root.tables("tls_policy", [&](Table& t, size_t i) {
    read_host_policy(t, i, edge.tls, edge.tls_policies.emplace_back());
  });
  root.table("acme", [&](Table& t) { read_acme(t, edge.acme); });
  root.tables("certificate", [&](Table& t, size_t i) {
    crypto::CertificateSettings& c = edge.tls.certificates.emplace_back();
    if (!read_acme_certificate(t, i, c, edge.acme)) read_certificate(t, c);
  });
  root.tables("pool", [&](Table& t, size_t) { read_pool(t, edge.pools.emplace_back()); });
  root.tables("route", [&](Table& t, size_t i) { read_route(t, i, edge.routes.emplace_back()); });
  root.table("headers", [&](Table& t) { read_headers(t, edge.header_rules); });
  root.tables("error_page",
              [&](Table& t, size_t) { read_error_page(t, edge.error_pages.emplace_back()); });
  root.tables("passthrough", [&](Table& t, size_t i) {
    read_passthrough(t, i, edge.passthroughs.emplace_back());
  });
  root.table("limits", [&](Table& t) { read_limits(t, edge.limits); });
  root.table("timeouts", [&](Table& t) { read_timeouts(t, edge.limits); });
  root.table("identity", [&](Table& t) { read_identity(t, edge.identity); });
  root.table("client_certificate_fields", [&](Table& t) {
    read_client_certificate_fields(t, edge.identity.client_certificate);
  });
  root.table("logging", [&](Table& t) { read_logging(t, edge.logs); });
  root.table("admin", [&](Table& t) { read_admin(t, out.admin); });
  root.table("signing", [&](Table& t) { read_signing(t, edge.signing); });
  root.table("crypto", [&](Table& t) { read_crypto(t, edge.crypto); });
  root.table("quic", [&](Table& t) { read_quic(t, edge.quic); });
  root.table("debug", [&](Table& t) { read_debug(t, edge.debug); });
}

}  // namespace pqedge::config
