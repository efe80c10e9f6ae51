// The little that a provider needs of OSSL_PARAM, so that the module needs nothing of libcrypto.
#pragma once

#include <openssl/core.h>
#include <openssl/params.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pqedge::fast {

inline const OSSL_PARAM* find(const OSSL_PARAM* params, const char* name) {
  for (const OSSL_PARAM* p = params; p != nullptr && p->key != nullptr; ++p) {
    if (std::strcmp(p->key, name) == 0) return p;
  }
  return nullptr;
}
inline OSSL_PARAM* find(OSSL_PARAM* params, const char* name) {
  return const_cast<OSSL_PARAM*>(find(static_cast<const OSSL_PARAM*>(params), name));
}

// Whether `p` holds exactly `size` bytes.
inline const uint8_t* octets(const OSSL_PARAM* p, size_t size) {
  if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data_size != size) return nullptr;
  return static_cast<const uint8_t*>(p->data);
}

// Answers a question: with no room given, says how much is needed.
inline bool answer(OSSL_PARAM* p, const void* bytes, size_t size) {
  if (p == nullptr) return true;
  if (p->data_type != OSSL_PARAM_OCTET_STRING) return false;
  p->return_size = size;
  if (p->data == nullptr) return true;
  if (p->data_size < size) return false;
  std::memcpy(p->data, bytes, size);
  return true;
}

inline bool answer(OSSL_PARAM* p, int value) {
  if (p == nullptr) return true;
  if (p->data_type != OSSL_PARAM_INTEGER && p->data_type != OSSL_PARAM_UNSIGNED_INTEGER) {
    return false;
  }
  const int64_t wide = value;
  p->return_size = p->data_size == sizeof wide ? sizeof wide : sizeof value;
  if (p->data == nullptr) return true;
  if (p->data_size < p->return_size) return false;
  std::memcpy(p->data, p->return_size == sizeof wide ? static_cast<const void*>(&wide) : &value,
              p->return_size);
  return true;
}

// An empty text.
inline bool answer_nothing(OSSL_PARAM* p) {
  if (p->data_type != OSSL_PARAM_UTF8_STRING) return false;
  p->return_size = 0;
  if (p->data != nullptr && p->data_size > 0) *static_cast<char*>(p->data) = 0;
  return true;
}

// A pointer to a text that lives as long as the module.
inline bool answer_text(OSSL_PARAM* p, const char* text) {
  if (p == nullptr) return true;
  if (p->data_type != OSSL_PARAM_UTF8_PTR) return false;
  p->return_size = std::strlen(text);
  if (p->data != nullptr) *static_cast<const char**>(p->data) = text;
  return true;
}

constexpr OSSL_PARAM describe(const char* key, unsigned type) {
  return {key, type, nullptr, 0, OSSL_PARAM_UNMODIFIED};
}
inline constexpr OSSL_PARAM kNoMore = {nullptr, 0, nullptr, 0, 0};

template <typename Function>
OSSL_DISPATCH entry(int id, Function* function) {
  return {id, reinterpret_cast<void (*)()>(function)};
}

}  // namespace pqedge::fast
