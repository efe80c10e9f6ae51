// The folder in which accounts and certificates live. What is there is whole: a file is written
// under another name, synced, and renamed. Several processes may share it.
//
//   STORAGE/CA/account.key      the account's key
//   STORAGE/CA/account.url      its URL at the CA
//   STORAGE/CA/certificates/    ID.pem: private key, certificate, intermediates
//   STORAGE/CA/on_demand/       the same, of names that clients asked for
//
// CA is made of the directory's URL: what a test CA issued is never taken for the real one's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/socket.h"

namespace pqedge::acme {

// Another process of this folder leaves a thing alone while the lock is held. The kernel lets go of
// it when the process ends, however that is.
using Lock = net::Fd;

class Storage {
 public:
  Storage() = default;
  Storage(const std::string& folder, std::string_view directory_url);

  // Makes the folders, 0700.
  Result<void> prepare() const;

  std::string account_key_file() const { return root_ + "/account.key"; }
  std::string account_url_file() const { return root_ + "/account.url"; }
  std::string certificate_file(const std::string& id, bool on_demand) const;
  // Of every certificate that a client's question led to; at most `most`.
  std::vector<std::string> on_demand_ids(size_t most) const;

  // An Error with code ENOENT where there is none.
  static Result<std::string> read(const std::string& file);
  // Atomic and durable; mode 0600.
  static Result<void> write(const std::string& file, std::string_view text);
  // That a file of the size of a certificate can be written beside `file`: asked before the CA is.
  static Result<void> check_room(const std::string& file);
  static void remove(const std::string& file);
  // Changes with every write; 0 where there is none.
  static int64_t version_of(const std::string& file);

  // The lock of a file, "FILE.lock". Invalid (false): another has it now.
  static Result<Lock> lock(const std::string& file);

 private:
  std::string root_;
};

// A name for a file, from the names of a certificate: "www.example.org", and with a hash of all
// where there are several: "example.org+3fa9c1d2e4b5a697".
std::string id_of(const std::vector<std::string>& names);

}  // namespace pqedge::acme
