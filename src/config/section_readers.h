// Readers of sections that have a file of their own, section_<subject>.cc.
#pragma once

#include "config/reader.h"
#include "content/error_pages.h"
#include "crypto/settings.h"
#include "edge/passthrough_settings.h"
#include "edge/settings.h"
#include "http/client_certificate_fields.h"
#include "jobs/acme/settings.h"
#include "route/settings.h"
#include "upstream/settings.h"

namespace pqedge::config {

void read_ech(Table& t, crypto::EchSettings& s);
void read_crypto(Table& t, crypto::ProviderSettings& s);

// section_certificates.cc
void read_certificate(Table& t, crypto::CertificateSettings& s);
void read_signing(Table& t, crypto::SigningSettings& s);

// section_process.cc
void read_process(Table& t, edge::Settings& s);

// section_tickets.cc
void read_tickets(Table& t, crypto::TlsSettings& s);

// section_stapling.cc
void read_stapling(Table& t, crypto::TlsSettings& s);

// section_policy.cc
void read_policy(Table& t, crypto::TlsSettings& s);
void read_host_policy(Table& t, size_t index, const crypto::TlsSettings& base,
                      crypto::HostPolicySettings& s);
void read_route_clients(Table& t, route::RouteSettings& s);
void read_client_certificate_fields(Table& t, http::ClientCertificateFields& s);
void read_backend_tls(Table& t, upstream::PoolSettings& s);

// section_protocol.cc
void read_protocol(Table& t, upstream::PoolSettings& s);

// section_servers.cc
void read_servers(Table& t, upstream::PoolSettings& s);

// section_balance.cc
void read_balance(Table& t, upstream::PoolSettings& s);

// section_early_hints.cc; after the route's pool was read
void read_route_early_hints(Table& t, route::RouteSettings& s);

// section_match.cc
void read_route_match(Table& t, route::RouteSettings& s);

// section_shape.cc
void read_route_shape(Table& t, route::RouteSettings& s);
void read_headers(Table& t, route::HeaderSettings& s);
void read_error_page(Table& t, content::ErrorPageSettings& s);

// section_forward.cc
void read_pool_forward(Table& t, upstream::PoolSettings& s);
void read_route_forward(Table& t, route::ForwardSettings& s);

// section_tunnel.cc
void read_route_tunnel(Table& t, route::RouteSettings& s);

// section_stream.cc
void read_listener_stream(Table& t, edge::ListenerSettings& l);

// section_passthrough.cc
void read_passthrough(Table& t, size_t index, edge::PassthroughSettings& s);

// section_acme.cc
void read_acme(Table& t, acme::Settings& s);
// False: the certificate comes from files, and is still to be read.
bool read_acme_certificate(Table& t, size_t index, crypto::CertificateSettings& certificate,
                           acme::Settings& s);

// section_standing.cc, section_discovery.cc: of a [[pool]]
void read_standing(Table& t, upstream::PoolSettings& s);
void read_discovery(Table& t, upstream::PoolSettings& s);

}  // namespace pqedge::config
