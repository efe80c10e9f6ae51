#include "crypto/fips.h"

#include <openssl/conf.h>
#include <openssl/core_names.h>
#include <openssl/fips_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <cerrno>
#include <format>
#include <memory>
#include <system_error>

#include "crypto/groups.h"
#include "crypto/handles.h"
#include "crypto/ticket_cipher.h"

namespace pqedge::crypto {
namespace {

constexpr const char* kSection = "fips_sect";  // as `openssl fipsinstall` names it by default

using ConfPtr = std::unique_ptr<CONF, FreeWith<NCONF_free>>;

std::string how_to_make(const std::string& file) {
  return std::format(
      "make it with: openssl fipsinstall -module MODULES/fips.so -out {} (the package is "
      "openssl-provider-fips; `openssl version -m` says MODULES)",
      file);
}

// The parameters of the module: its MAC, and what it checks.
Result<std::vector<OSSL_PARAM>> read_parameters(CONF* conf, const std::string& file) {
  const STACK_OF(CONF_VALUE)* section = NCONF_get_section(conf, kSection);
  if (section == nullptr) {
    take_openssl_error();
    return fail("crypto.fips_module_config: {} has no section [{}]; {}", file, kSection,
                how_to_make(file));
  }
  std::vector<OSSL_PARAM> parameters;
  bool has_mac = false;
  for (int i = 0; i < sk_CONF_VALUE_num(section); ++i) {
    const CONF_VALUE* value = sk_CONF_VALUE_value(section, i);
    if (std::string_view(value->name) == "activate") continue;
    has_mac = has_mac || std::string_view(value->name) == OSSL_PROV_FIPS_PARAM_MODULE_MAC;
    parameters.push_back(OSSL_PARAM_construct_utf8_string(value->name, value->value, 0));
  }
  if (!has_mac) {
    return fail("crypto.fips_module_config: {} has no {}; {}", file,
                OSSL_PROV_FIPS_PARAM_MODULE_MAC, how_to_make(file));
  }
  parameters.push_back(OSSL_PARAM_construct_end());
  return parameters;
}

FipsModule describe(const OSSL_PROVIDER* provider) {
  char* name = nullptr;
  char* version = nullptr;
  char* build = nullptr;
  OSSL_PARAM wanted[] = {
      OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_NAME, &name, 0),
      OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_VERSION, &version, 0),
      OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, &build, 0),
      OSSL_PARAM_construct_end(),
  };
  OSSL_PROVIDER_get_params(provider, wanted);
  const auto text = [](const char* t) { return t == nullptr ? std::string() : std::string(t); };
  return {text(name), text(version), text(build)};
}

bool is_fips(const OSSL_PROVIDER* provider) {
  return provider != nullptr && std::string_view(OSSL_PROVIDER_get0_name(provider)) == "fips";
}

bool has_cipher(const char* name) {
  const CipherPtr cipher(EVP_CIPHER_fetch(nullptr, name, nullptr));
  take_openssl_error();
  return cipher != nullptr && is_fips(EVP_CIPHER_get0_provider(cipher.get()));
}

bool has_digest(const char* name) {
  const std::unique_ptr<EVP_MD, FreeWith<EVP_MD_free>> digest(EVP_MD_fetch(nullptr, name, nullptr));
  take_openssl_error();
  return digest != nullptr && is_fips(EVP_MD_get0_provider(digest.get()));
}

bool has_kdf(const char* name) {
  const std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>> kdf(EVP_KDF_fetch(nullptr, name, nullptr));
  take_openssl_error();
  return kdf != nullptr && is_fips(EVP_KDF_get0_provider(kdf.get()));
}

bool has_mac(const char* name) {
  const std::unique_ptr<EVP_MAC, FreeWith<EVP_MAC_free>> mac(EVP_MAC_fetch(nullptr, name, nullptr));
  take_openssl_error();
  return mac != nullptr && is_fips(EVP_MAC_get0_provider(mac.get()));
}

// Needed by each handshake, packet and ticket, whatever is configured.
Result<void> check_needed() {
  std::string missing;
  const auto need = [&](bool there, std::string_view name) {
    if (!there) missing.append(missing.empty() ? "" : ", ").append(name);
  };
  need(has_cipher("AES-128-GCM"), "AES-128-GCM");
  need(has_cipher("AES-256-GCM"), "AES-256-GCM");
  need(has_cipher("AES-128-ECB"), "AES-128-ECB (QUIC connection IDs)");
  need(has_cipher("AES-128-CTR"), "AES-128-CTR (QUIC header protection)");
  need(has_digest("SHA2-256"), "SHA-256");
  need(has_digest("SHA2-384"), "SHA-384");
  need(has_kdf("HKDF"), "HKDF (QUIC)");
  need(has_kdf("TLS13-KDF"), "TLS13-KDF");
  need(has_mac("HMAC"), "HMAC");
  const EVP_RAND_CTX* random = RAND_get0_public(nullptr);
  need(random != nullptr && is_fips(EVP_RAND_get0_provider(
                                EVP_RAND_CTX_get0_rand(const_cast<EVP_RAND_CTX*>(random)))),
       "the random generator");
  if (missing.empty()) return {};
  return fail("crypto.fips: the FIPS provider has not: {}", missing);
}

std::string list_groups(bool available) {
  std::string text;
  for (const Group& group : known_groups()) {
    if (is_available(group) == available) {
      text.append(text.empty() ? "" : ", ").append(group.name);
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Result<FipsModule> load_fips(const std::string& module_config) {
  clear_errors();
  if (access(module_config.c_str(), R_OK) != 0) {
    return fail("crypto.fips_module_config: cannot read {}: {}; {}", module_config,
                std::generic_category().message(errno), how_to_make(module_config));
  }
  const ConfPtr conf(NCONF_new(nullptr));
  long line = 0;
  if (conf == nullptr || NCONF_load(conf.get(), module_config.c_str(), &line) <= 0) {
    const std::string reason = take_openssl_error();
    return fail("crypto.fips_module_config: {}:{}: {}", module_config, line, reason);
  }
  auto parameters = read_parameters(conf.get(), module_config);
  if (!parameters) return std::unexpected(parameters.error());
  // Neither is unloaded: what was fetched from them lives as long as the process.
  [[gnu::used]] static OSSL_PROVIDER* fips = nullptr;
  [[gnu::used]] static OSSL_PROVIDER* base = nullptr;
  fips = OSSL_PROVIDER_load_ex(nullptr, "fips", parameters->data());
  if (fips == nullptr) {
    return fail(
        "crypto.fips: OpenSSL's FIPS provider does not start: {}; is it installed (package "
        "openssl-provider-fips), and is {} of this very module? {}",
        take_openssl_error(), module_config, how_to_make(module_config));
  }
  base = OSSL_PROVIDER_load(nullptr, "base");
  if (base == nullptr || EVP_default_properties_enable_fips(nullptr, 1) != 1) {
    return fail("crypto.fips: cannot be switched on: {}", take_openssl_error());
  }
  if (OSSL_PROVIDER_self_test(fips) != 1) {
    return fail("crypto.fips: the FIPS provider's self tests failed: {}", take_openssl_error());
  }
  return describe(fips);
}

Result<std::vector<std::string>> check_fips() {
  if (auto ok = check_needed(); !ok) return std::unexpected(ok.error());
  if (ticket_cipher() == nullptr) {
    return fail("crypto.fips: session tickets cannot be sealed: {}", take_openssl_error());
  }
  return std::vector<std::string>{
      std::format("FIPS: groups there: {}", list_groups(true)),
      std::format("FIPS: groups not there: {}", list_groups(false)),
      std::format("FIPS: ChaCha20-Poly1305 is {}", has_cipher("ChaCha20-Poly1305")
                                                       ? "there"
                                                       : "not there: TLS and QUIC take AES-GCM"),
      "FIPS: session tickets: AES-256-GCM and HMAC-SHA-256 of the module; pqedge itself only puts "
      "the tag in its place",
  };
}

}  // namespace pqedge::crypto
