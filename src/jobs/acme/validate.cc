#include "jobs/acme/validate.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <format>
#include <map>

#include "jobs/acme/certificate_request.h"
#include "jobs/acme/dns_message.h"
#include "jobs/acme/dns_update.h"
#include "jobs/acme/names.h"
#include "jobs/acme/storage.h"

namespace pqedge::acme {
namespace {

constexpr size_t kMaxNames = 100;  // of one certificate; what public CAs allow

// The CA/Browser Forum's Baseline Requirements (6.1.1.3) know RSA and ECDSA keys alone.
constexpr std::array<std::string_view, 6> kPublicAuthorities = {
    "letsencrypt.org", "zerossl.com", "pki.goog", "buypass.com", "ssl.com", "sectigo.com"};

bool is_url(std::string_view url, bool plain) {
  const bool scheme = url.starts_with("https://") || (plain && url.starts_with("http://"));
  return scheme && url.size() > url.find("://") + 3 &&
         std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view host_of(std::string_view url) {
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  return url.substr(0, url.find_first_of("/:"));
}

void check_directory_url(const Settings& s, Problems& out) {
  if (!is_url(s.directory, false)) {
    out.push_back({"acme.directory", in_quotes(s.directory) + " is not an https URL",
                   "the CA's documentation names its ACME directory"});
    return;
  }
  const std::string_view host = host_of(s.directory);
  const bool is_public = std::ranges::any_of(kPublicAuthorities, [&](std::string_view one) {
    return host == one || host.ends_with("." + std::string(one));
  });
  if (is_ml_dsa(s.key_type) && is_public) {
    out.push_back({"acme.key_type",
                   std::format("{} is a kind of key that {} signs no certificate for",
                               in_quotes(to_text(s.key_type)), host),
                   "public CAs issue for RSA and ECDSA keys alone; a CA of your own may take it"});
  }
}

void check_account(const Settings& s, Problems& out) {
  if (!s.accept_terms) {
    out.push_back({"acme.accept_terms", "is not true",
                   "a CA makes an account only for who agrees to its terms of service"});
  }
  const bool odd = s.email.find_first_of(" ,?\"\\") != s.email.npos;
  if (!s.email.empty() && (odd || s.email.find('@') == s.email.npos)) {
    out.push_back({"acme.email", in_quotes(s.email) + " is not a mail address"});
  }
  if (s.eab_key_id.empty() != s.eab_key_file.empty()) {
    out.push_back({s.eab_key_id.empty() ? "acme.eab_key_file" : "acme.eab_key_id",
                   "has no effect alone", "the CA gives out both: a key's ID and its secret"});
  }
}

void check_names(const CertificateSettings& c, const Settings& s, Problems& out) {
  const std::string key = entry_key("certificate", c.index, "names");
  if (c.names.size() > kMaxNames) {
    out.push_back({key, std::format("{} names are too many for a certificate", c.names.size()),
                   std::format("the most is {}", kMaxNames)});
  }
  if (c.names.empty()) out.push_back({key, "is empty", "write names = [\"www.example.com\"]"});
  for (size_t i = 0; i < c.names.size(); ++i) {
    const std::string& name = c.names[i];
    if (!is_certificate_name(name)) {
      out.push_back({entry_key(key, i), in_quotes(name) + " is not a host name",
                     "write \"www.example.com\" or \"*.example.com\": CAs issue for no others"});
    } else if (name.starts_with("*.") && s.challenge != Challenge::dns_01) {
      out.push_back({entry_key(key, i), in_quotes(name) + " needs acme.challenge = \"dns-01\"",
                     "a CA checks a wildcard in the DNS alone"});
    } else if (std::find(c.names.begin(), c.names.begin() + static_cast<ptrdiff_t>(i), name) !=
               c.names.begin() + static_cast<ptrdiff_t>(i)) {
      out.push_back({entry_key(key, i), in_quotes(name) + " is there twice"});
    } else if (s.challenge == Challenge::dns_01 && s.dns.server &&
               zone_of(s.dns.zones, name.starts_with("*.") ? name.substr(2) : name).empty()) {
      out.push_back({entry_key(key, i), in_quotes(name) + " is in none of acme.dns.zones"});
    }
  }
}

void check_certificates(const Settings& s, Problems& out) {
  std::map<std::string, size_t> seen;
  for (const CertificateSettings& c : s.certificates) {
    check_names(c, s, out);
    if (c.names.empty()) continue;
    const auto [it, added] = seen.try_emplace(id_of(c.names), c.index);
    if (!added) {
      out.push_back({entry_key("certificate", c.index, "names"), "are those of another certificate",
                     "", entry_key("certificate", it->second, "names")});
    }
  }
}

void check_dns(const Settings& s, Problems& out) {
  const DnsSettings& dns = s.dns;
  const bool used = !dns.hook.empty() || dns.server || !dns.zones.empty() || !dns.tsig_key.empty();
  if (s.challenge != Challenge::dns_01) {
    if (used) out.push_back({"acme.dns", "has no effect without challenge = \"dns-01\""});
    return;
  }
  if (dns.hook.empty() == !dns.server) {
    out.push_back({"acme.dns", dns.server ? "has a hook and a server" : "has no hook and no server",
                   "give hook = [\"/path/to/command\"], or server and zones (RFC 2136)"});
  }
  if (!dns.hook.empty() && !dns.hook.front().starts_with('/')) {
    out.push_back({"acme.dns.hook", in_quotes(dns.hook.front()) + " is not an absolute path",
                   "the command is run without a shell and without a search path"});
  }
  if (dns.server && (!dns.server->is_ip() || dns.server->port() == 0)) {
    out.push_back(
        {"acme.dns.server", "is not an IP address with a port", "write \"192.0.2.53:53\""});
  }
  if (dns.server && dns.zones.empty()) {
    out.push_back({"acme.dns.zones", "is missing", "write zones = [\"example.com\"]"});
  }
  for (size_t i = 0; i < dns.zones.size(); ++i) {
    if (!is_issuable_host(dns.zones[i])) {
      out.push_back({entry_key("acme.dns.zones", i), in_quotes(dns.zones[i]) + " is not a zone"});
    }
  }
  if (dns.tsig_key.empty() != dns.tsig_secret_file.empty()) {
    out.push_back({dns.tsig_key.empty() ? "acme.dns.tsig_secret_file" : "acme.dns.tsig_key",
                   "has no effect alone", "a key (TSIG, hmac-sha256) has a name and a secret"});
  }
  if (!dns.tsig_key.empty() && dns::encode_name(dns.tsig_key).empty()) {
    out.push_back({"acme.dns.tsig_key", in_quotes(dns.tsig_key) + " is not a name of the DNS"});
  }
  check_duration(out, "acme.dns.hook_timeout", dns.hook_timeout, kSecond, kHour);
  check_duration(out, "acme.dns.propagation", dns.propagation, 0, kHour);
}

void check_on_demand(const Settings& s, Problems& out) {
  const OnDemandSettings& o = s.on_demand;
  if (o.ask.empty()) return;
  if (!is_url(o.ask, true)) {
    out.push_back({"acme.on_demand.ask", in_quotes(o.ask) + " is not a URL",
                   "\"?domain=NAME\" is added to it; 200 allows the name"});
  }
  check_count(out, "acme.on_demand.max_names", o.max_names, 1, 100'000);
  check_count(out, "acme.on_demand.asks_per_minute", o.asks_per_minute, 1, 100'000);
  check_duration(out, "acme.on_demand.wait", o.wait, 100 * kMillisecond, 60 * kSecond);
  check_duration(out, "acme.on_demand.deny_for", o.deny_for, kSecond, 24 * kHour);
}

void check_readable(const std::string& key, const std::string& file, Problems& out) {
  if (file.empty()) return;
  if (const auto text = Storage::read(file); !text) {
    out.push_back({key, text.error().message});
  }
}

}  // namespace

Problems validate(const Settings& s) {
  Problems out;
  if (!s.present) {
    if (!s.certificates.empty()) {
      out.push_back({entry_key("certificate", s.certificates.front().index, "acme"),
                     "needs a section [acme]", "it names the CA and the folder for certificates"});
    }
    return out;
  }
  if (!s.on()) {
    out.push_back({"acme", "has no effect: no certificate is obtained by it",
                   "write [[certificate]] with names = [...] and acme = true", "", true});
  }
  check_directory_url(s, out);
  check_account(s, out);
  check_certificates(s, out);
  check_dns(s, out);
  check_on_demand(s, out);
  check_count(out, "acme.renew_percent_left", s.renew_percent_left, 5, 90);
  check_duration(out, "acme.retry_min", s.retry_min, 100 * kMillisecond, 24 * kHour);
  check_duration(out, "acme.retry_max", s.retry_max, s.retry_min, 30 * 24 * kHour);
  check_duration(out, "acme.timeout", s.timeout, kSecond, 600 * kSecond);
  return out;
}

Problems check_files(const Settings& s) {
  Problems out;
  if (!s.present) return out;
  check_readable("acme.ca_file", s.ca_file, out);
  check_readable("acme.eab_key_file", s.eab_key_file, out);
  check_readable("acme.dns.tsig_secret_file", s.dns.tsig_secret_file, out);
  if (!s.dns.hook.empty() && ::access(s.dns.hook.front().c_str(), X_OK) != 0) {
    out.push_back({"acme.dns.hook", in_quotes(s.dns.hook.front()) + " cannot be run",
                   "is the path right, and is it executable?"});
  }
  if (s.storage.empty()) return out;
  std::error_code code;
  if (std::filesystem::is_directory(s.storage, code)) {
    if (::access(s.storage.c_str(), R_OK | W_OK | X_OK) != 0) {
      out.push_back({"acme.storage", in_quotes(s.storage) + " cannot be written to"});
    }
  } else if (!std::filesystem::is_directory(std::filesystem::path(s.storage).parent_path(), code)) {
    out.push_back({"acme.storage",
                   in_quotes(s.storage) + " cannot be made: there is no folder above it",
                   "create it"});
  }
  return out;
}

}  // namespace pqedge::acme
