#include "measure/live/observer.h"

#include <format>

#include "base/text.h"
#include "measure/live/endpoint.h"
#include "measure/live/messages.h"
#include "measure/live/names.h"

namespace pqedge::measure::live {

namespace {

std::string shares_text(const std::vector<std::pair<uint16_t, size_t>>& shares) {
  std::string text;
  for (const auto& [group, size] : shares) {
    if (!text.empty()) text += ", ";
    text += std::format("{} {}", group_name(group), size);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

void Observer::time(const char* name) {
  record_.times_us.try_emplace(name, static_cast<double>(monotonic_now() - start_) / 1000);
}

void Observer::client_hello(Bytes message) {
  const auto hello = read_client_hello(message);
  if (!hello) return;
  const bool second = record_.sizes.contains("client_hello");
  record_.sizes[second ? "client_hello_2" : "client_hello"] = hello->size;
  record_.facts[second ? "shares_offered_2" : "shares_offered"] = shares_text(hello->shares);
  size_t all = 0;
  for (const auto& [group, size] : hello->shares) all += size;
  record_.sizes[second ? "key_shares_client_2" : "key_shares_client"] = all;
  if (!second) record_.sizes["client_shares"] = hello->shares.size();
  if (hello->padding > 0) record_.sizes["padding"] = hello->padding;
  shares_ = hello->shares;
}

void Observer::server_hello(Bytes message) {
  const auto hello = parse_server_hello(message);
  if (!hello) {
    record_.facts["server_hello"] = hello.error().message;
    return;
  }
  if (hello->retry) {
    record_.hello_retry_request = true;
    record_.sizes["hello_retry_request"] = message.size();
    if (hello->group) record_.facts["retry_group"] = group_name(*hello->group);
    time("hello_retry_request");
    return;
  }
  record_.sizes["server_hello"] = message.size();
  record_.cipher = cipher_suite_name(hello->cipher);
  if (hello->version != 0x0304) record_.facts["version"] = std::format("{:#06x}", hello->version);
  if (hello->group) {
    record_.group_code = *hello->group;
    record_.group = group_name(*hello->group);
    record_.sizes["key_share_server"] = hello->share;
    for (const auto& [group, size] : shares_) {
      if (group == *hello->group) record_.sizes["key_share_client"] = size;
    }
  }
  time("server_hello");
}

void Observer::attach(SSL* ssl) {
  SSL_set_msg_callback(ssl, &Observer::on_message);
  SSL_set_msg_callback_arg(ssl, this);
}

void Observer::on_message(int written, int /*version*/, int type, const void* bytes, size_t size,
                          SSL* /*ssl*/, void* self) {
  if (type != SSL3_RT_HANDSHAKE || size < 4) return;
  const Bytes message(static_cast<const uint8_t*>(bytes), size);
  auto& observer = *static_cast<Observer*>(self);
  if (written != 0) {
    observer.sent(message);
  } else {
    observer.received(message);
  }
}

void Observer::received(Bytes message) {
  switch (message[0]) {
    case kEncryptedExtensions: record_.sizes["encrypted_extensions"] = message.size(); return;
    case kCertificateRequest: record_.sizes["certificate_request"] = message.size(); return;
    case kCertificate: return certificate(message);
    case kCompressedCertificate:
      record_.sizes["certificate"] = message.size();
      if (message.size() >= 9) {
        record_.facts["certificate_compression"] = compression_name(load_be16(&message[4]));
        record_.sizes["certificate_uncompressed"] = load_be24(&message[6]) + 4;
      }
      return;
    case kCertificateVerify: verify(message, "certificate_verify"); return;
    case kFinished:
      record_.sizes["finished_server"] = message.size();
      time("server_finished");
      return;
    default: return;
  }
}

void Observer::certificate(Bytes message) {
  // With a compressed one OpenSSL may show the expanded message as well: the wire's counts.
  if (record_.facts.contains("certificate_compression")) return;
  record_.sizes["certificate"] = message.size();
  const auto facts = read_certificate(message);
  if (!facts) return;
  record_.sizes["certificates"] = facts->count;
  record_.sizes["certificates_der"] = facts->der;
  record_.sizes["certificate_leaf_der"] = facts->leaf;
}

void Observer::verify(Bytes message, const char* size_name) {
  record_.sizes[size_name] = message.size();
  if (message.size() < 8) return;
  const std::string scheme = signature_scheme_name(load_be16(&message[4]));
  if (std::string_view(size_name) == "certificate_verify") {
    record_.signature = scheme;
    record_.sizes["signature"] = message.size() - 8;
  } else {
    record_.facts["client_signature"] = scheme;
  }
}

void Observer::sent(Bytes message) {
  if (message[0] == kCertificate || message[0] == kCompressedCertificate) {
    record_.sizes["client_certificate"] = message.size();
  } else if (message[0] == kCertificateVerify) {
    verify(message, "client_certificate_verify");
  } else if (message[0] == kFinished) {
    record_.sizes["finished_client"] = message.size();
  }
}

Result<crypto::SslCtxPtr> make_context(const Options& options) {
  crypto::clear_errors();
  crypto::SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return fail("TLS: {}", crypto::take_openssl_error());
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  if (!options.groups.empty() && SSL_CTX_set1_groups_list(raw, options.groups.c_str()) != 1) {
    return fail("--groups {}: OpenSSL does not know this list: {}", options.groups,
                crypto::take_openssl_error());
  }
  if (!options.sigalgs.empty() && SSL_CTX_set1_sigalgs_list(raw, options.sigalgs.c_str()) != 1) {
    return fail("--sigalgs {}: OpenSSL does not know this list: {}", options.sigalgs,
                crypto::take_openssl_error());
  }
  if (!options.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(raw, options.certificate.c_str()) != 1) {
      return fail("--cert {}: {}", options.certificate, crypto::take_openssl_error());
    }
    if (SSL_CTX_use_PrivateKey_file(raw, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
      return fail("--key {}: {}", options.key, crypto::take_openssl_error());
    }
  }
  // The chain is judged and the verdict recorded; it ends no measurement.
  SSL_CTX_set_default_verify_paths(raw);
  SSL_CTX_set_verify(raw, SSL_VERIFY_NONE, nullptr);
  return context;
}

Result<crypto::SslPtr> make_client(SSL_CTX* context, const Options& options,
                                   std::string_view default_alpn) {
  crypto::SslPtr ssl(SSL_new(context));
  if (ssl == nullptr) return fail("TLS: {}", crypto::take_openssl_error());
  SSL_set_connect_state(ssl.get());
  if (const std::string name = server_name(options); !name.empty()) {
    if (SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1) {
      return fail("{}: not a server name", name);
    }
    SSL_set1_host(ssl.get(), name.c_str());
  }
  std::string wire;
  for_each_member(options.alpn.empty() ? default_alpn : std::string_view(options.alpn),
                  [&](std::string_view name) {
                    wire += static_cast<char>(name.size());
                    wire += name;
                  });
  if (!wire.empty() && SSL_set_alpn_protos(ssl.get(), as_bytes(wire).data(),
                                           static_cast<unsigned>(wire.size())) != 0) {
    return fail("--alpn {}: not a list of names", options.alpn);
  }
  return ssl;
}

void read_end(SSL* ssl, LiveRecord& record) {
  const unsigned char* alpn = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &alpn, &size);
  if (size > 0) record.facts["alpn"] = as_text(Bytes(alpn, size));
  const long verdict = SSL_get_verify_result(ssl);
  record.facts["chain"] = verdict == X509_V_OK ? "trusted by this host"
                                               : std::string("not trusted by this host: ") +
                                                     X509_verify_cert_error_string(verdict);
}

}  // namespace pqedge::measure::live
