// Libraries that this build was made without (cmake/PqedgeProviders.cmake).
#include "measure/provider/libraries.h"

namespace pqedge::measure {

#if !defined(PQCOST_BOTAN)
Result<std::unique_ptr<Provider>> make_botan() {
  return fail("not in this build: Botan 3 was missing ('make deps' installs it)");
}
#endif
#if !defined(PQCOST_WOLFSSL)
Result<std::unique_ptr<Provider>> make_wolfssl() {
  return fail("not in this build: wolfSSL was missing ('make deps' installs it)");
}
#endif
#if !defined(PQCOST_LIBGCRYPT)
Result<std::unique_ptr<Provider>> make_libgcrypt() {
  return fail("not in this build: libgcrypt 1.11 was missing ('make deps' installs it)");
}
#endif
#if !defined(PQCOST_LIBNTRUPRIME)
Result<std::unique_ptr<Provider>> make_libntruprime() {
  return fail("not in this build: libntruprime was missing ('make deps' installs it)");
}
#endif
#if !defined(PQCOST_PQCLEAN)
Result<std::unique_ptr<Provider>> make_pqclean() {
  return fail("not in this build: node_modules/ was missing ('make deps' installs it)");
}
#endif

}  // namespace pqedge::measure
