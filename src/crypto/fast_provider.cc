#include "crypto/fast_provider.h"

#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <unistd.h>

#include <filesystem>

#include "crypto/handles.h"

namespace pqedge::crypto {

std::string find_fast_provider() {
  std::error_code code;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return {};
  const std::filesystem::path folder = program.parent_path();
  for (const auto& path : {folder / "pqedge-fast.so", folder / "../lib/pqedge/pqedge-fast.so"}) {
    if (std::filesystem::is_regular_file(path, code)) return path.lexically_normal().string();
  }
  return {};
}

Result<std::string> load_fast_provider(const std::string& path) {
  // Its names stay its own: they are those of OpenSSL.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return fail("cannot load the module: {}", dlerror());
  const auto init = reinterpret_cast<OSSL_provider_init_fn*>(dlsym(module, "OSSL_provider_init"));
  if (init == nullptr) {
    dlclose(module);
    return fail("{} is no provider: it has no OSSL_provider_init", path);
  }
  clear_errors();
  // OpenSSL's own provider has to be there first: whoever asks for no properties gets the first.
  const std::unique_ptr<EVP_KEYMGMT, FreeWith<EVP_KEYMGMT_free>> own(
      EVP_KEYMGMT_fetch(nullptr, "X25519", nullptr));
  // Never unloaded, whether or not it is used then.
  [[gnu::used]] static OSSL_PROVIDER* provider = nullptr;
  if (own != nullptr && OSSL_PROVIDER_add_builtin(nullptr, kFastProvider, init) == 1) {
    provider = OSSL_PROVIDER_try_load(nullptr, kFastProvider, 1);
  }
  if (provider == nullptr) return fail("{} cannot be used: {}", path, take_openssl_error());
  char* version = nullptr;
  OSSL_PARAM wanted[] = {OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_VERSION, &version, 0),
                         OSSL_PARAM_construct_end()};
  OSSL_PROVIDER_get_params(provider, wanted);
  return version == nullptr ? std::string("no version") : std::string(version);
}

}  // namespace pqedge::crypto
