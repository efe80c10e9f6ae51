// pqedge-fast.so in a unit test's process, loaded once.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "crypto/fast_provider.h"

namespace pqedge::crypto {

class WithFastModule : public ::testing::Test {
 protected:
  void SetUp() override {
    // It lies beside the program, a folder above that of the tests.
    static const std::string path = [] {
      const auto tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
      const auto found = tests.parent_path() / "pqedge-fast.so";
      return std::filesystem::exists(found) ? found.string() : std::string();
    }();
    if (path.empty()) {
      const char* required = std::getenv("PQEDGE_REQUIRE_FAST_CRYPTO");
      ASSERT_TRUE(required == nullptr || std::string_view(required) != "1")
          << "pqedge-fast.so is missing: make fast-crypto";
      GTEST_SKIP() << "make fast-crypto builds pqedge-fast.so";
    }
    static const auto loaded = load_fast_provider(path);
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
};

}  // namespace pqedge::crypto
