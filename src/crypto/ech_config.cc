#include "crypto/ech_config.h"

#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <format>

#include "base/base64.h"
#include "base/text.h"
#include "crypto/handles.h"
#include "crypto/server_name.h"

namespace pqedge::crypto {
namespace {

// Cuts pieces off; once one does not fit, everything after it fails too.
class Cutter {
 public:
  explicit Cutter(Bytes bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }
  bool has_more() const { return good_ && !rest_.empty(); }

  Bytes take(size_t size) {
    if (!good_ || rest_.size() < size) {
      good_ = false;
      return {};
    }
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  uint8_t u8() {
    const Bytes b = take(1);
    return b.empty() ? uint8_t{0} : b[0];
  }
  uint16_t u16() {
    const Bytes b = take(2);
    return b.empty() ? uint16_t{0} : load_be16(b.data());
  }
  Bytes vector8() { return take(u8()); }
  Bytes vector16() { return take(u16()); }

 private:
  Bytes rest_;
  bool good_ = true;
};

std::string to_string(Bytes bytes) { return std::string(as_text(bytes)); }

void put16(std::string& out, size_t value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

// ECHConfigContents (RFC 9849 4).
bool parse_contents(Bytes contents, EchConfig& config) {
  Cutter cut(contents);
  config.id = cut.u8();
  config.kem = cut.u16();
  config.public_key = to_string(cut.vector16());
  Cutter suites(cut.vector16());
  while (suites.has_more()) {
    const uint16_t kdf = suites.u16();
    config.suites.emplace_back(kdf, suites.u16());
  }
  config.max_name_length = cut.u8();
  config.public_name = to_string(cut.vector8());
  Cutter extensions(cut.vector16());
  while (extensions.has_more()) {
    extensions.u16();
    extensions.vector16();
  }
  return cut.at_end() && suites.at_end() && extensions.at_end() && !config.public_key.empty() &&
         !config.suites.empty() && !config.public_name.empty();
}

struct PemBlock {
  std::string name;
  std::string bytes;
};

// All blocks of a text. What stands between them is passed over.
std::vector<PemBlock> pem_blocks(std::string_view pem) {
  std::vector<PemBlock> blocks;
  const BioPtr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  while (in != nullptr && PEM_read_bio(in.get(), &name, &header, &data, &size) == 1) {
    blocks.push_back({name, std::string(reinterpret_cast<char*>(data), static_cast<size_t>(size))});
    OPENSSL_clear_free(data, static_cast<size_t>(size));
    OPENSSL_free(name);
    OPENSSL_free(header);
  }
  take_openssl_error();  // of the end of the text
  return blocks;
}

std::string raw_public(const EVP_PKEY* key) {
  size_t size = 0;
  if (EVP_PKEY_get_raw_public_key(key, nullptr, &size) != 1) return {};
  std::string out(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  return EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1 ? out : std::string();
}

KeyPtr read_key(std::string_view pem) {
  const BioPtr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // No question for a password on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  KeyPtr key(in == nullptr ? nullptr
                           : PEM_read_bio_PrivateKey(in.get(), nullptr, no_password, nullptr));
  take_openssl_error();
  return key;
}

std::string encode(const EchConfig& config) {
  std::string contents;
  contents += static_cast<char>(config.id);
  put16(contents, config.kem);
  put16(contents, config.public_key.size());
  contents += config.public_key;
  put16(contents, config.suites.size() * 4);
  for (const auto& [kdf, aead] : config.suites) {
    put16(contents, kdf);
    put16(contents, aead);
  }
  contents += static_cast<char>(config.max_name_length);
  contents += static_cast<char>(config.public_name.size());
  contents += config.public_name;
  put16(contents, 0);  // extensions
  std::string out;
  put16(out, kEchVersion);
  put16(out, contents.size());
  return out + contents;
}

bool write_pem(std::string& out, EVP_PKEY* key, const std::string& list) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  char* data = nullptr;
  if (bio == nullptr ||
      PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio(bio.get(), std::string(kEchPemName).c_str(), "",
                    reinterpret_cast<const unsigned char*>(list.data()),
                    static_cast<long>(list.size())) <= 0) {
    return false;
  }
  const long size = BIO_get_mem_data(bio.get(), &data);
  out.assign(data, static_cast<size_t>(size));
  return true;
}

}  // namespace

Result<std::vector<EchConfig>> parse_ech_config_list(Bytes list) {
  Cutter outer(list);
  Cutter entries(outer.vector16());
  std::vector<EchConfig> configs;
  if (!outer.at_end()) return fail("the length of the ECHConfigList is not that of its bytes");
  while (entries.has_more()) {
    const uint16_t version = entries.u16();
    const Bytes contents = entries.vector16();
    if (!entries.good()) break;
    if (version != kEchVersion) continue;
    EchConfig config;
    if (!parse_contents(contents, config)) {
      return fail("an ECHConfig of the ECHConfigList is malformed");
    }
    put16(config.encoded, version);
    put16(config.encoded, contents.size());
    config.encoded += to_string(contents);
    configs.push_back(std::move(config));
  }
  if (!entries.at_end()) return fail("the ECHConfigList is cut off");
  if (configs.empty()) return fail("the ECHConfigList has no ECHConfig of RFC 9849");
  return configs;
}

std::string ech_config_list(const std::vector<EchConfig>& configs) {
  std::string all;
  for (const EchConfig& config : configs) all += config.encoded;
  std::string out;
  put16(out, all.size());
  return out + all;
}

Result<EchKeyFile> parse_ech_key_file(std::string_view pem) {
  EchKeyFile file;
  for (PemBlock& block : pem_blocks(pem)) {
    if (block.name == kEchPemName && file.configs.empty()) {
      auto configs = parse_ech_config_list(as_bytes(block.bytes));
      if (!configs) return std::unexpected(configs.error());
      file.configs = std::move(*configs);
    } else if (block.name.ends_with("PRIVATE KEY")) {
      file.has_key = true;
    }
    OPENSSL_cleanse(block.bytes.data(), block.bytes.size());
  }
  if (file.configs.empty()) return fail("there is no block \"{}\" in it", kEchPemName);
  if (!file.has_key) return file;
  const KeyPtr key = read_key(pem);
  if (key == nullptr) return fail("the private key cannot be read");
  if (raw_public(key.get()) != file.configs.front().public_key) {
    return fail("the private key is not that of the ECHConfig");
  }
  return file;
}

std::string judge_public_name(std::string_view name) {
  std::string lower;
  if (name.empty()) return "is empty";
  if (name.size() > 253 || judge_server_name(name, lower) != NameVerdict::host || lower != name) {
    return "is not a host name in lower case";
  }
  // Clients pass over what would be an IPv4 address.
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const bool digits = std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
  if (digits || last.starts_with("0x")) return "ends like an IPv4 address: clients pass over it";
  return {};
}

Result<std::string> make_ech_key(std::string_view public_name, uint8_t max_name_length) {
  if (const std::string wrong = judge_public_name(public_name); !wrong.empty()) {
    return fail("the public name {} {}", public_name, wrong);
  }
  clear_errors();
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  EchConfig config;
  if (key == nullptr || RAND_bytes(&config.id, 1) != 1) {
    return fail("no key can be made: {}", take_openssl_error());
  }
  config.kem = kEchKemX25519;
  config.public_key = raw_public(key.get());
  config.suites = {{0x0001, 0x0001}};  // HKDF-SHA256 with AES-128-GCM (RFC 9849 9)
  config.max_name_length = max_name_length;
  config.public_name = public_name;
  config.encoded = encode(config);
  std::string pem;
  if (!write_pem(pem, key.get(), ech_config_list({config}))) {
    return fail("the key cannot be written as PEM: {}", take_openssl_error());
  }
  return pem;
}

std::string zone_line(const HttpsRecord& record) {
  std::string owner = record.host;
  if (!owner.ends_with('.')) owner += '.';
  if (record.port != 443) owner = std::format("_{}._https.{}", record.port, owner);  // RFC 9460 2.3
  std::string line = std::format("{} {} IN HTTPS 1 ", owner, record.ttl);
  // "." is the owner's name, which is not the host's where a port is in it.
  line +=
      record.port == 443 ? std::string(".") : record.host + (record.host.ends_with('.') ? "" : ".");
  if (!record.alpn.empty()) {
    std::string names;
    for (const std::string& name : record.alpn) names += (names.empty() ? "" : ",") + name;
    line += std::format(" alpn=\"{}\"", names);
  }
  return line + std::format(" ech=\"{}\"", base64(record.list));
}

}  // namespace pqedge::crypto
