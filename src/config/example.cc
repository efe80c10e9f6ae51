#include "config/load.h"

namespace pqedge::config {
namespace {

// The same text as docs/examples/complete.toml; a test compares them.
constexpr std::string_view kExample =
    R"TOML(# A complete configuration of pqedge: every key there is, most with the value it has when it is left
# out. docs/configuration.md explains each. `pqedge check FILE` says what is wrong with a file.
#
# Durations are "500ms", "10s", "5m", "1h" or "2d"; sizes are bytes or "64KiB", "1MiB", "10MB".
# Relative file names start at the directory of this file.

version = 1

[server]
workers = 0                # 0: one for each CPU this process may use
max_connections = 100000   # client connections in the process; more are refused
drain_timeout = "30s"      # after SIGTERM: what still runs then is cut
drain_linger = "2s"        # after SIGTERM: how long idle HTTP/1.1 and HTTP/3 connections stay
upgrade_drain_timeout = "10m"   # after an upgrade: what still runs in the old process then is cut
watch_config = false       # true: this file is read again when it changes
# pid_file = "/run/pqedge/pqedge.pid"

# ---- where clients connect ------------------------------------------------------------------------

[[listener]]
name = "https"
address = ["0.0.0.0:443", "[::]:443"]
tls = true
protocols = ["http/1.1", "h2", "h3"]   # h3 binds the same port on UDP
v6_only = true                         # [::] would take IPv4 as well
proxy_from = ["10.0.0.0/8"]            # balancers that send a PROXY header (v1, v2)

[[listener]]
name = "http"
address = "0.0.0.0:80"
tls = false
redirect_to_https = true               # answers everything with 308
redirect_port = 443
redirect_hosts = ["www.example.com", "*.cdn.example.com", "old.example.com"]   # default: all

[[listener]]                           # no HTTP: straight to a pool (docs/recipes/tcp-and-udp.md)
name = "dns"
address = "0.0.0.0:53"
protocols = ["tcp", "udp"]
pool = "dns"
idle_timeout = "10m"                   # TCP: without a byte either way
udp_timeout = "60s"                    # UDP: without a datagram either way
udp_sessions = 10000                   # clients of UDP at a time

[tls]
min_version = "1.3"                    # or "1.2"
groups = "compatible"                  # post-quantum first; "hybrid-required", "cnsa2", or a list
downgraded_clients = "allow"           # offers ML-KEM, but no group of ours: "log", "refuse", "403", "421"
classical_clients = "log"              # offers no ML-KEM at all
ciphers = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"]
signature_algorithms = ["ecdsa_secp256r1_sha256", "rsa_pss_rsae_sha256"]
# Client certificates (docs/recipes/mutual-tls.md):
client_auth = "off"                    # or "optional", "required", "request_any"
# client_ca = "clients-ca.pem"
# client_crls = ["clients-ca.crl"]
client_depth = 3                       # intermediates
client_max_chain = "64KiB"
client_ca_names = true                 # told to clients
watch_certificates = true              # read again when their files change
strict_key_files = false               # true: a key's file must have mode 0600 or less
session_tickets = true
ticket_lifetime = "2h"
ticket_encapsulation = false           # true: an ML-KEM-1024 encapsulation in each ticket
early_data = false                     # true: 0-RTT (docs/recipes/early-data.md)
# max_early_data = "16KiB"             # of a TCP connection; with early_data = true
# early_data_tickets = 131072          # remembered as used
# Ticket keys that restarts and other machines share (docs/recipes/session-tickets.md), [tls.ticket_keys]:
# store = "/etc/pqedge/ticket-keys"
# private_key = "/etc/pqedge/ticket-keys.key"
# passphrase_file = "/etc/pqedge/ticket-keys.passphrase"
# poll = "10s"
# rotate_every = "6h"                  # on one machine alone
handshake_timeout = "10s"
ocsp_stapling = true                   # for certificates that name a responder
# ocsp_cache_dir = "/var/lib/pqedge/ocsp"    # responses survive a restart there
ocsp_local_responders = false          # ask loopback and link-local addresses too
ocsp_timeout = "10s"
ocsp_retry = "60s"                     # after a failure; doubles up to an hour
# ct_log_list = "log_list.json"        # timestamps are checked against it (docs/recipes/certificate-transparency.md)
# ct_submit = ["https://ct.example.com/2026/"]
# ct_cache_dir = "/var/lib/pqedge/ct"
# certificate_compression = ["brotli", "zstd", "zlib"]
# Encrypted Client Hello: in a build with OpenSSL 4 alone (docs/recipes/encrypted-client-hello.md)
# ech = { keys = ["ech/2026-12.pem", "ech/2026-11.pem"], public_name = "cover.example.com" }
# As tables of their own, [tls.ech]:
# keys = ["ech/2026-12.pem", "ech/2026-11.pem"]   # newest first
# public_name = "cover.example.com"               # what can be read on the way

# Hosts with a TLS policy of their own; what is left out is as in [tls]
# (docs/recipes/tls-policies-by-host.md).
[[tls_policy]]
name = "strict"
hosts = ["internal.example.com", "*.internal.example.com"]
min_version = "1.3"
groups = "hybrid-required"
downgraded_clients = "allow"
classical_clients = "allow"
ciphers = ["TLS_AES_256_GCM_SHA384"]
signature_algorithms = ["mldsa65", "ecdsa_secp256r1_sha256"]
client_auth = "off"                    # "required" wants a client_ca
# client_ca = "clients-ca.pem"
# client_crls = ["clients-ca.crl"]
client_depth = 3
client_max_chain = "64KiB"
client_ca_names = true

[[certificate]]
chain = "certificates/www.example.com.pem"        # the certificate, then its intermediates
key = "certificates/www.example.com.key"
default = true                                    # served when no name matches
# sct_file = "certificates/www.example.com.sctl"  # timestamps to send with it

[[certificate]]                                   # obtained by [acme]
names = ["old.example.com"]
acme = true

[signing]                                         # slow signatures, beside the workers
threads = 2                            # 0: the workers sign themselves
queue = 256
share = 8                              # of one client address
deadline = "2s"

[acme]
directory = "https://acme-v02.api.letsencrypt.org/directory"
email = "admin@example.com"
accept_terms = true                    # the CA's terms of service
storage = "/var/lib/pqedge/acme"       # accounts and certificates
challenge = "http-01"                  # or "tls-alpn-01", "dns-01"
key_type = "p256"                      # or "p384", "rsa2048", "rsa3072", "rsa4096", "ml-dsa-44", ...
renew_percent_left = 33                # of the lifetime, where the CA names no time of its own
retry_min = "1m"                       # after a failure; doubled with each
retry_max = "6h"
timeout = "30s"                        # of one exchange with the CA
# ca_file = "acme-ca.pem"              # what the ACME server's certificate is checked with
# eab_key_id = "key-1"                 # external account binding
# eab_key_file = "eab.key"
#
# [acme.dns]                           # for dns-01: a command, or a server with zones (RFC 2136)
# hook = ["/usr/local/bin/acme-dns"]
# hook_timeout = "1m"
# server = "192.0.2.53:53"
# zones = ["example.com"]
# tsig_key = "pqedge"
# tsig_secret_file = "tsig.key"        # hmac-sha256, base64
# propagation = "10s"                  # before the CA is told to look
#
# [acme.on_demand]                     # names that clients ask for
# ask = "http://127.0.0.1:9900/allowed"
# max_names = 1000
# asks_per_minute = 60
# wait = "8s"
# deny_for = "10m"

# ---- where requests go ----------------------------------------------------------------------------

[[pool]]
name = "app"
balance = "least_connections"          # or "round_robin", "random_two", "hash", "least_time"
# hash_by = "client_ip"                # with "hash"; or "header:NAME", "cookie:NAME"
servers = [
  "127.0.0.1:9000",
  { address = "127.0.0.1:9001", weight = 2, id = "b" },
  { address = "unix:/run/app.sock", priority = 1 },   # where no other can take requests
]
affinity = "off"                       # or "cookie", "client_ip", "header:NAME"
# affinity_cookie = "pqedge_server"    # with "cookie"
# affinity_ttl = "1h"
# affinity_entries = 65536             # clients remembered, other than by cookie
max_requests = 0                       # in flight a server; 0: no limit. Beyond it the queue, or 503
# queue = 100                          # requests that wait for a server
# queue_timeout = "5s"                 # then 503
slow_start = "0s"                      # a server that comes back gets its share over this time
connect_timeout = "2s"
response_timeout = "60s"               # request sent -> first byte of the answer; then 504
read_timeout = "60s"                   # between two reads of the answer
idle_timeout = "55s"                   # an unused connection is closed
max_idle = 256                         # unused connections kept, a server
max_connections = 0                    # a server; 0: no limit. Beyond it: 503
protocol = "http/1.1"                  # or "h2", "auto" (both need tls), "h2c"
# max_streams = 100                    # with HTTP/2: requests at a time on a connection
max_connection_requests = 0            # then a connection is used no more; 0: no limit
max_connection_age = "0s"              # the same
retries = 1                            # of idempotent requests that got no answer
retry_on = ["connect", "refused", "reset"]   # also "timeout", "5xx", "503"
retry_any_method = false               # true: POST and PATCH too
retry_backoff = "25ms"                 # doubled with each try
retry_backoff_max = "250ms"
retry_body = "64KiB"                   # of a body kept to be sent again
retry_budget = 20                      # percent of the requests of ten seconds
retry_floor = 10                       # and so many a second in any case
request_timeout = "0s"                 # head to answer's end, tries included; 0s: no limit
send_proxy = "off"                     # or "v1", "v2": a PROXY header first
# TLS with the servers (docs/recipes/tls-to-backends.md); needs tls = true:
# tls = true
# tls_server_name = "app.internal"     # SNI, and what the certificate must be for
# tls_verify_name = "app.internal"     # where that is another name
# tls_ca = "internal-ca.pem"           # left out: the system's
# tls_verify = true                    # false needs --allow-insecure-backends as well
# tls_certificate = "edge.pem"         # shown to servers that ask for one
# tls_key = "edge.key"
# tls_min_version = "1.3"
# tls_groups = "compatible"
# tls_key_shares = ["X25519MLKEM768", "X25519"]   # in the first hello
# tls_resumption = true
# tls_handshake_timeout = "5s"

# What is made of servers that fail (docs/recipes/failing-servers.md):
failure_statuses = [500, 502, 503, 504]   # left out: 500 to 599 but 501 and 505

[pool.health]                          # asks each server, in requests of its own
kind = "http"                          # or "tcp", "grpc"
method = "GET"
path = "/healthz"
host = "www.example.com"               # left out: the server's address
statuses = [200, 204]                  # left out: 200 to 399
body = "ok"                            # is in the answer
# service = "shop.Cart"                # with "grpc"
# port = 9900                          # left out: the server's
interval = "5s"
interval_down = "2s"                   # of a server that is down
timeout = "2s"                         # of a whole check
rise = 2                               # checks that go well, to be up
fall = 3                               # and that fail, to be down

[pool.outlier]                         # leaves alone who fails requests
failures = 5                           # in a row; 0: not looked at
error_percent = 0                      # of a window's requests; 0: not looked at
min_requests = 20                      # in a window, before error_percent counts
window = "10s"
eject = "30s"                          # times how often of late
max_eject = "5m"
max_percent = 50                       # of the pool at a time; never the last server

[pool.breaker]                         # goes on with a few probes after the pause
failures = 5
error_percent = 50
min_requests = 20
window = "10s"
pause = "10s"
probes = 3
probe_timeout = "5s"

# [pool.discovery]                     # more servers (docs/recipes/discovery.md); one of:
# dns = "app.internal"                 # A and AAAA
# port = 8080
# srv = "_http._tcp.app.internal"
# file = "servers.json"
# resolvers = ["192.0.2.53:53"]        # left out: those of the system
# min_ttl = "1s"
# max_ttl = "1m"
# timeout = "2s"

[[pool]]
name = "static"
servers = ["[::1]:9100"]

# The most specific host wins, then an exact path, a pattern, the longest prefix; then who asks for
# more. "pqedge explain" shows it for a request.

[[pool]]
name = "git"
servers = ["10.0.0.31:22"]

[[pool]]
name = "dns"
servers = ["10.0.0.53:53", "10.0.1.53:53"]

[[route]]
name = "uploads"
hosts = ["www.example.com"]
path_prefix = "/upload"
pool = "app"
max_body = "1GiB"
# The pool's retries, retry_on, ..., and time limits, for this route (docs/recipes/retries-and-timeouts.md):
retries = 2
connect_timeout = "1s"                 # until a server can take the request
response_timeout = "30s"
read_timeout = "30s"
request_timeout = "10m"
hedge_after = "0s"                     # then a second server is asked too; 0s: never
buffer_request = "64KiB"               # read before a server is asked; 0 streams
buffer_response = "64KiB"              # read before the client gets it; 0 streams
shadow_pool = "static"                 # gets copies (docs/recipes/shadowing.md)
shadow_percent = 1
shadow_body = "64KiB"
shadow_requests = 100                  # copies at a time
max_head = "32KiB"                     # of the header section, beside limits.max_head; 431 beyond
encoded_slash = "refuse"               # "%2F" in the path: 400
# Where clients show certificates:
# client_certificate = true            # 403 without a verified one; or only for some:
# client_subjects = ["CN=alice,O=Example"]
# client_names = ["*.admins.example.com", "root@example.com"]
# client_fingerprints = ["0f1e..."]    # SHA-256

[[route]]
name = "static"
hosts = ["www.example.com", "*.cdn.example.com"]
path_prefix = "/static"
pool = "static"
early_hints = ["</static/site.css>; rel=preload; as=style"]   # docs/recipes/early-hints.md
pass_early_hints = true                # the backend's 103

[[route]]
name = "chat"                          # docs/recipes/websocket.md
hosts = ["www.example.com"]
path_prefix = "/chat"
pool = "app"
upgrades = ["websocket"]               # passed on to become tunnels; [] for none
tunnel_timeout = "1h"                  # of silence in a tunnel

[[route]]
name = "git-over-ssh"                  # takes CONNECT for these targets (docs/recipes/connect.md)
connect = ["git.example.com:22"]
pool = "git"

[[route]]
name = "robots"
path = "/robots.txt"                   # this path alone, on every host
status = 200
body = "User-agent: *\nDisallow: /private/\n"
content_type = "text/plain; charset=utf-8"
# body_file = "robots.txt"             # instead of body

[[route]]
name = "moved"
path_prefix = "/shop"
redirect = { to = "https://shop.example.com${rest}", status = 301, keep_query = true }

[[route]]
name = "api"                           # docs/recipes/canary.md
hosts = ["www.example.com"]
path_prefix = "/api"
pool = "app"
rewrite = { strip_prefix = "/api", host = "app.internal" }   # or prefix = "/v2", or path = "/v2${rest}"
# rewrite = { regex = "/api/user/([0-9]+)", path = "/users?id=${1}" }
request_headers = [                    # toward the backend, in this order
  { set = "X-Client-Group", value = "${group}" },
  { add = "X-Tag", value = "edge" },
  { remove = "X-Internal-*" },
]
response_headers = [{ set = "X-Served-By", value = "${pool}" }, { remove = "Server" }]
header_case = "keep"                   # "words": X-Camel-Case toward HTTP/1.1 peers
header_names = ["SOAPAction"]          # spelled just so

[route.canary]                         # of the route above
pool = "static"
percent = 5
sticky_cookie = "side"                 # keeps clients on their side; or:
# sticky_header = "X-User-ID"
cookie_lifetime = "1d"
override_header = "X-Canary"           # "always" or "never"
rollback_errors = 10                   # of a hundred
rollback_requests = 50                 # of at least so many
rollback_window = "1m"

[[route]]
name = "old"
hosts = ["old.example.com"]
redirect_to_https = true
redirect_port = 443

[[route]]
name = "beta"                          # conditions: all of them have to hold
hosts = ["www.example.com"]
path_regex = "/v[0-9]+/.*"             # the whole path (RE2)
methods = ["GET", "HEAD"]
headers = [{ name = "x-tenant", value = "blue" }, { name = "x-debug", present = false }]
query = [{ name = "beta", regex = "[01]" }]
client_networks = ["10.0.0.0/8"]
priority = 10                          # a higher one goes before all that is more specific
pool = "app"

[[route]]
name = "everything"
pool = "app"

[headers]                              # rules of all routes, before their own
request = [{ remove = "X-Debug" }]
response = [{ set = "X-Content-Type-Options", value = "nosniff" }]

[[error_page]]
status = [502, 503, 504]
body = "Sorry, we will be back soon (${status} ${reason}). Request ID: ${request_id}\n"
# file = "errors/sorry.html"           # instead of body
content_type = "text/plain; charset=utf-8"
routes = ["api"]                       # left out: all
backend_errors = false                 # true: also for what backends answer

# Names that are passed on without being decrypted, over TLS and QUIC (docs/recipes/passthrough.md):
#
# [[passthrough]]
# name = "bank"
# hosts = ["bank.example.com"]
# pool = "bank"
# listeners = ["https"]                # every one with TLS by default
# protocols = ["tls", "quic"]
# idle_timeout = "5m"                  # TCP: without a byte either way
# quic_idle_timeout = "2m"             # without a datagram; longer than the servers' own
#
# [[passthrough.server_ids]]           # a QUIC client whose address changed is known by its server's ID
# server = "10.0.0.7:443"
# prefix = "5fb8"                      # every connection ID begins so; or
# quic_lb = "a001"                     # a plain server ID of QUIC-LB
# rotation = 0

# ---- what a message may take ----------------------------------------------------------------------

[limits]
max_target = "16KiB"                   # request target; 414 beyond
max_head = "64KiB"                     # decoded header section, 32 bytes a field added; 431 beyond
max_fields = 128                       # 431 beyond
max_trailers = "8KiB"
max_body = "10GiB"                     # request body; 413 beyond. Left out: no limit
max_requests = 100000                  # a connection
max_streams = 128                      # concurrent requests a connection (HTTP/2, HTTP/3)
max_response_head = "64KiB"            # of a backend's answer; 502 beyond
body_window = "256KiB"                 # request body bytes on the way to a backend, a request
connection_window = "1MiB"             # and a connection

[timeouts]
header = "10s"                         # first byte of a head -> its end; 408
idle = "60s"                           # between requests
body = "30s"                           # between two reads of a request body; 408
send = "30s"                           # without progress toward the client
linger = "5s"                          # reading on after an early answer

# ---- who the client is ----------------------------------------------------------------------------

[identity]
trusted_proxies = ["10.0.0.0/8", "2001:db8::/32"]   # whose X-Forwarded-* and Forwarded count
forwarded = true                                    # send Forwarded (RFC 7239)
x_forwarded = true                                  # send X-Forwarded-For, -Proto, -Host, -Port
tls_fields = false                                  # send X-HTTP-Version, X-TLS-Version, X-TLS-Group
                                                    # and X-TLS-Cipher
via = "pqedge"
protected_fields = ["X-Authenticated-User"]         # no client may send them, in any spelling

[client_certificate_fields]            # what backends are told, where clients are asked; "": not sent
verify = "X-SSL-Client-Verify"
subject = "X-SSL-Client-DN"
issuer = "X-SSL-Client-Issuer-DN"
san = "X-SSL-Client-SAN"
serial = "X-SSL-Client-Serial"
fingerprint = "X-SSL-Client-SHA256"
certificate = "Client-Cert"
chain = ""                             # "Client-Cert-Chain"

# ---- what is written down -------------------------------------------------------------------------

[logging]
access = "/var/log/pqedge/access.log"  # JSON lines; "-": standard output; left out: none
error = "/var/log/pqedge/error.log"    # left out: standard error
level = "info"                         # "debug", "info", "warning" or "error"
queue = 8192                           # access records waiting to be written; more are dropped

[admin]
listen = ["127.0.0.1:8081"]            # /healthz, /readyz, /metrics: read-only
hosts = ["admin.example.com"]          # further Host values that are answered
control_socket = "/run/pqedge/control.sock"
# token_file = "/etc/pqedge/admin.token"   # who sends its bearer token may do over listen what the
                                       # control socket does

# ---- QUIC -----------------------------------------------------------------------------------------

[crypto]                               # what the whole process computes with; changes with a restart
fips = false                           # true: OpenSSL's FIPS provider, and nothing else
# fips_module_config = "/etc/ssl/fipsmodule.cnf"   # as `openssl fipsinstall` writes it
fast_provider = "auto"                 # pqedge-fast.so, where it is beside the program; "off", or a path

[quic]
retry = "under_load"                   # or "never", "always"
retry_above = 1000                     # half-open handshakes a worker
active_migration = true
idle_timeout = "60s"
handshake_timeout = "10s"
stream_window = "256KiB"
stream_window_max = "6MiB"
connection_window = "1MiB"
connection_window_max = "16MiB"
gso = true
gro = true
congestion_control = "cubic"           # or "reno", "bbr"
receive_buffer = "4MiB"
send_buffer = "4MiB"

# Secrets of one client's connections, to find a fault with. Warned about at each start.
#
# [debug]
# client = "192.0.2.1"
# keylog_file = "keys.log"
# qlog_dir = "qlog"
)TOML";

}  // namespace

std::string_view example_config() { return kExample; }

}  // namespace pqedge::config
