#include "config/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <format>
#include <system_error>

#include "config/files_tls.h"
#include "crypto/certificates.h"
#include "crypto/ech.h"
#include "crypto/stapling_validate.h"
#include "crypto/ticket_files.h"
#include "jobs/acme/validate.h"
#include "net/socket.h"

namespace pqedge::config {
namespace {

// True when the file can be read; else a problem is added.
bool check_readable(const std::string& key, const std::string& file, Problems& out) {
  // Not to wait for the writer of a FIFO.
  const net::Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    const int code = errno;
    out.push_back({key, std::format("cannot read {}: {}", in_quotes(file),
                                    std::generic_category().message(code))});
    return false;
  }
  if (!S_ISREG(info.st_mode)) {
    out.push_back({key, in_quotes(file) + " is not a file"});
    return false;
  }
  return true;
}

void check_certificate(const crypto::CertificateSettings& c, bool strict_keys, size_t i,
                       Problems& out) {
  const std::string base = entry_key("certificate", i);
  if (!c.directory.empty()) {
    const auto store =
        crypto::CertificateStore::load({c}, {.strict_keys = strict_keys, .warn = false});
    if (!store) out.push_back({base + ".directory", store.error().message});
    return;
  }
  if (c.chain_file.empty() || c.key_file.empty()) return;  // said already
  const bool chain = check_readable(base + ".chain", c.chain_file, out);
  const bool key = check_readable(base + ".key", c.key_file, out);
  if (!chain || !key) return;
  // What is only worth a warning is said when the certificates are taken into use.
  if (const auto store =
          crypto::CertificateStore::load({c}, {.strict_keys = strict_keys, .warn = false});
      !store) {
    const std::string& message = store.error().message;
    const bool about_key = c.key_file != c.chain_file && message.contains(c.key_file);
    out.push_back({base + (about_key ? ".key" : ".chain"), message});
  }
}

void check_directory(const std::string& key, const std::filesystem::path& directory,
                     Problems& out) {
  std::error_code code;
  if (std::filesystem::is_directory(directory, code)) return;
  out.push_back({key, "there is no directory " + in_quotes(directory.string()), "create it"});
}

// The file itself may come to be later; its directory has to be there.
void check_place(const std::string& key, const std::string& file, Problems& out) {
  if (file.empty() || file == "-") return;
  std::error_code code;
  if (std::filesystem::is_directory(file, code)) {
    out.push_back({key, in_quotes(file) + " is a directory", "name a file in it"});
    return;
  }
  const std::filesystem::path parent = std::filesystem::path(file).parent_path();
  if (!parent.empty()) check_directory(key, parent, out);
}

// Clients take a new key (retry_configs) only from who has a certificate for the public name.
void check_ech(const crypto::TlsSettings& tls, Problems& out) {
  const Problems found = crypto::check_files(tls.ech, tls.strict_key_files);
  out.insert(out.end(), found.begin(), found.end());
  if (!found.empty() || tls.ech.key_files.empty() || tls.certificates.empty()) return;
  const auto store = crypto::CertificateStore::load(
      tls.certificates, {.strict_keys = tls.strict_key_files, .warn = false});
  if (!store || (*store)->covers(tls.ech.public_name)) return;
  out.push_back({.key = "tls.ech.public_name",
                 .what = std::format("{} is in no certificate: a client that comes with an old key "
                                     "cannot be given the new one",
                                     in_quotes(tls.ech.public_name)),
                 .hint = "add a [[certificate]] for it",
                 .warning = true});
}

// One after another: each says what the next needs.
void check_ticket_keys(const crypto::TicketKeySettings& s, Problems& out) {
  if (s.store_file.empty() || s.private_key_file.empty()) return;  // said already
  const auto key = crypto::load_kem_private_key(s.private_key_file, s.passphrase_file);
  if (!key) {
    const bool passphrase =
        !s.passphrase_file.empty() && key.error().message.contains(s.passphrase_file);
    out.push_back({passphrase ? "tls.ticket_keys.passphrase_file" : "tls.ticket_keys.private_key",
                   key.error().message});
    return;
  }
  if (const auto store = crypto::load_ticket_store(s.store_file, key->get()); !store) {
    out.push_back({"tls.ticket_keys.store", store.error().message});
  }
}

// What is sent as answers of our own.
void check_page_files(const edge::Settings& edge, Problems& out) {
  const auto check = [&out](const std::string& key, const std::string& file) {
    if (file.empty()) return;
    if (const auto text = content::read_page_file(file); !text) {
      out.push_back({key, text.error().message});
    }
  };
  for (size_t i = 0; i < edge.routes.size(); ++i) {
    check(entry_key("route", i, "body_file"), edge.routes[i].answer_file);
  }
  for (size_t i = 0; i < edge.error_pages.size(); ++i) {
    check(entry_key("error_page", i, "file"), edge.error_pages[i].file);
  }
}

}  // namespace

Problems check_files(const Configuration& configuration) {
  const edge::Settings& edge = configuration.edge;
  Problems out;
  for (size_t i = 0; i < edge.tls.certificates.size(); ++i) {
    check_certificate(edge.tls.certificates[i], edge.tls.strict_key_files, i, out);
  }
  check_ech(edge.tls, out);
  for (Problem& p : check_tls_files(edge)) out.push_back(std::move(p));
  crypto::check_stapling_files(edge.tls, out);
  for (Problem& p : acme::check_files(edge.acme)) out.push_back(std::move(p));
  check_ticket_keys(edge.tls.ticket_keys, out);
  check_page_files(edge, out);
  check_place("logging.access", edge.logs.access_file, out);
  check_place("logging.error", edge.logs.error_file, out);
  check_place("server.pid_file", edge.pid_file, out);
  check_place("admin.control_socket", configuration.admin.control_socket, out);
  check_place("debug.keylog_file", edge.debug.keylog_file, out);
  if (!edge.debug.qlog_dir.empty()) check_directory("debug.qlog_dir", edge.debug.qlog_dir, out);
  return out;
}

}  // namespace pqedge::config
