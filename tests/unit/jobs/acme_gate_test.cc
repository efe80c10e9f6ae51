// On-demand issuance (K13), the storage, the hook, and DNS messages.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "jobs/acme/dns_message.h"
#include "jobs/acme/dns_update.h"
#include "jobs/acme/hook.h"
#include "jobs/acme/on_demand.h"
#include "jobs/acme/storage.h"

namespace pqedge::acme {
namespace {

using Verdict = OnDemandGate::Verdict;

OnDemandSettings settings() {
  OnDemandSettings s;
  s.ask = "http://127.0.0.1/ask";
  s.asks_per_minute = 60;
  s.max_names = 100;
  return s;
}

TEST(AcmeOnDemand, AThousandRandomNamesAreNotAskedAbout) {
  OnDemandGate gate(settings());
  int asked = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto v = gate.request("www.www.n" + std::to_string(i) + ".test", [] {}, kSecond);
    asked += v == Verdict::ask ? 1 : 0;
  }
  EXPECT_EQ(asked, 60);
  EXPECT_EQ(gate.request("192.0.2.1", [] {}, kSecond), Verdict::bad_name);
  EXPECT_EQ(gate.request("", [] {}, kSecond), Verdict::bad_name);
  EXPECT_EQ(gate.request("*.a.test", [] {}, kSecond), Verdict::bad_name);
  // One more a second.
  EXPECT_EQ(gate.request("later.test", [] {}, 2 * kSecond), Verdict::ask);
  EXPECT_EQ(gate.request("later2.test", [] {}, 2 * kSecond), Verdict::limited);
}

TEST(AcmeOnDemand, ManyClientsOneQuestionAndRefusalsAreRemembered) {
  OnDemandGate gate(settings());
  int woken = 0;
  EXPECT_EQ(gate.request("a.test", [&] { ++woken; }, kSecond), Verdict::ask);
  EXPECT_EQ(gate.request("a.test", [&] { ++woken; }, kSecond), Verdict::waits);
  EXPECT_EQ(gate.next_question(), "a.test");
  EXPECT_EQ(gate.next_question(), "");
  gate.refused("a.test", 100 * kSecond);
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(gate.request("a.test", [&] { ++woken; }, 99 * kSecond), Verdict::denied);
  EXPECT_EQ(gate.request("a.test", [&] { ++woken; }, 101 * kSecond), Verdict::ask);
  gate.granted("a.test");
  EXPECT_EQ(woken, 3);
}

TEST(AcmeOnDemand, WhoWaitsTooLongIsWokenAndTheNameStaysAsked) {
  OnDemandGate gate(settings());
  int woken = 0;
  ASSERT_EQ(gate.request("a.test", [&] { ++woken; }, kSecond), Verdict::ask);
  EXPECT_EQ(gate.wake_late(2 * kSecond), 9 * kSecond);
  EXPECT_EQ(gate.wake_late(9 * kSecond), kNever);
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(gate.request("a.test", [&] { ++woken; }, 9 * kSecond), Verdict::waits);
}

TEST(AcmeOnDemand, NamesAndWaitersAreBounded) {
  OnDemandSettings s = settings();
  s.max_names = 3;
  OnDemandGate gate(s);
  gate.count_names(2);
  EXPECT_EQ(gate.request("a.test", [] {}, kSecond), Verdict::ask);
  EXPECT_EQ(gate.request("b.test", [] {}, kSecond), Verdict::full);
  int waits = 0;
  for (int i = 0; i < 10'000; ++i) {
    waits += gate.request("a.test", [] {}, kSecond) == Verdict::waits ? 1 : 0;
  }
  EXPECT_LT(waits, 300);
  // Refusals beyond the bound push out the oldest.
  for (int i = 0; i < 20'000; ++i) {
    gate.refused("n" + std::to_string(i) + ".test", 1000 * kSecond);
  }
  EXPECT_EQ(gate.request("n19999.test", [] {}, kSecond), Verdict::denied);
  EXPECT_NE(gate.request("n0.test", [] {}, kSecond), Verdict::denied);
}

class AcmeFolder : public ::testing::Test {
 protected:
  AcmeFolder() {
    char name[] = "/tmp/pqedge-acme-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~AcmeFolder() override { std::filesystem::remove_all(folder_); }
  std::string script(const std::string& text) const {
    const std::string file = folder_ + "/hook";
    std::ofstream(file) << "#!/bin/sh\n" << text << "\n";
    ::chmod(file.c_str(), 0755);
    return file;
  }
  std::string folder_;
};

TEST_F(AcmeFolder, FilesAreWholeAndOursAlone) {
  const Storage storage(folder_ + "/acme", "https://ca.test:14000/dir");
  ASSERT_TRUE(storage.prepare());
  const std::string file = storage.certificate_file(id_of({"a.test"}), false);
  EXPECT_NE(file.find("/ca.test_14000_dir/certificates/a.test.pem"), std::string::npos) << file;
  EXPECT_EQ(Storage::version_of(file), 0);
  ASSERT_TRUE(Storage::write(file, "one"));
  const int64_t first = Storage::version_of(file);
  ASSERT_TRUE(Storage::write(file, "two"));
  EXPECT_NE(Storage::version_of(file), first);
  EXPECT_EQ(Storage::read(file).value(), "two");
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // Nothing else is left behind.
  int files = 0;
  for ([[maybe_unused]] const auto& f :
       std::filesystem::directory_iterator(std::filesystem::path(file).parent_path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
  // What cannot be written is said, and what was there stays.
  EXPECT_FALSE(Storage::write(folder_ + "/missing/file", "x"));
  EXPECT_FALSE(Storage::check_room(folder_ + "/missing/file"));
  EXPECT_TRUE(Storage::check_room(file));
  EXPECT_EQ(Storage::read(file).value(), "two");
}

TEST_F(AcmeFolder, OneAtATime) {
  const std::string file = folder_ + "/a.pem";
  auto first = Storage::lock(file);
  ASSERT_TRUE(first && *first);
  auto second = Storage::lock(file);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second);
  first->reset();
  second = Storage::lock(file);
  EXPECT_TRUE(second && *second);
}

TEST_F(AcmeFolder, IdsAreFilesNames) {
  EXPECT_EQ(id_of({"a.test"}), "a.test");
  EXPECT_EQ(id_of({"*.a.test"}), "_.a.test");
  const std::string two = id_of({"a.test", "b.test"});
  EXPECT_TRUE(two.starts_with("a.test+"));
  EXPECT_NE(two, id_of({"a.test", "c.test"}));
  EXPECT_LT(id_of({std::string(250, 'a')}).size(), 220u);
}

TEST_F(AcmeFolder, HookGetsItsEnvironmentAndNoShell) {
  HookCall call;
  call.command = {
      script("printf '%s|%s|%s' \"$1\" \"$PQEDGE_ACME_VALUE\" \"$#\" >" + folder_ + "/out"),
      "a b; rm -rf $HOME"};
  call.environment = {{"PQEDGE_ACME_VALUE", "x y"}};
  const auto done = run_hook(call);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Storage::read(folder_ + "/out").value(), "a b; rm -rf $HOME|x y|1");
}

TEST_F(AcmeFolder, HookFailsClearly) {
  HookCall call;
  call.command = {script("echo no such zone >&2; exit 3")};
  auto done = run_hook(call);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("status 3"), std::string::npos);
  EXPECT_NE(done.error().message.find("no such zone"), std::string::npos);
  // With what it started.
  call.command = {script("sleep 600 & sleep 600")};
  call.timeout = 200 * kMillisecond;
  done = run_hook(call);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("longer"), std::string::npos);
  call.command = {folder_ + "/absent"};
  EXPECT_FALSE(run_hook(call));
}

TEST(AcmeDns, UpdateOnTheWire) {
  dns::Change change;
  change.zone = "example.com";
  change.name = "_acme-challenge.Example.com";
  change.value = "v";
  change.id = 0x1234;
  const auto m = dns::encode_update(change, {});
  ASSERT_TRUE(m);
  // RFC 2136 2.2 to 2.5.1.
  EXPECT_EQ(to_hex(as_bytes(m->bytes)),
            "123428000001000000010000"
            "076578616d706c6503636f6d0000060001"
            "0f5f61636d652d6368616c6c656e6765076578616d706c6503636f6d00"
            "001000010000003c00020176");
  EXPECT_EQ(zone_of({"com", "example.com", "ample.com"}, "_acme-challenge.a.example.com"),
            "example.com");
  EXPECT_EQ(zone_of({"example.com"}, "notexample.com"), "");
}

TEST(AcmeDns, AnswersAreBelievedOnlyWhenSigned) {
  dns::Change change;
  change.zone = "example.com";
  change.name = "_acme-challenge.example.com";
  change.value = "v";
  change.id = 0x1234;
  const dns::Key key{"k.", "secret"};
  const auto m = dns::encode_update(change, key);
  ASSERT_TRUE(m);
  const auto check = [&](std::string_view hex, const dns::Key& k) {
    const auto bytes = from_hex(hex);
    return dns::check_answer(as_bytes(*bytes), *m, 0x1234, k, 0);
  };
  EXPECT_TRUE(check("1234a8000000000000000000", {}));
  EXPECT_NE(check("1234a8000000000000000000", key).error().message.find("not signed"),
            std::string::npos);
  EXPECT_NE(check("1234a8050000000000000000", key).error().message.find("REFUSED"),
            std::string::npos);
  EXPECT_FALSE(check("1235a8000000000000000000", {}));
  EXPECT_FALSE(check("1234", {}));
  EXPECT_FALSE(check("1234a8000001000000000000", {}));  // a question that is not there
  EXPECT_FALSE(check("1234a80000010000000000003f", {}));
}

}  // namespace
}  // namespace pqedge::acme
