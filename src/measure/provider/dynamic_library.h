// A shared library opened at run time, closed with its last user.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace pqedge::measure {

class DynamicLibrary {
 public:
  static Result<std::shared_ptr<DynamicLibrary>> open(const std::string& path, int flags) {
    void* handle = dlopen(path.c_str(), flags);
    if (!handle) return fail("{} cannot be opened: {}", path, dlerror());
    return std::shared_ptr<DynamicLibrary>(new DynamicLibrary(handle));
  }
  ~DynamicLibrary() { dlclose(handle_); }
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;

  // Sets `function` to the symbol `name`; false: the library has none.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace pqedge::measure
