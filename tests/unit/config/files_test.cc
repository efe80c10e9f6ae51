// What is checked beyond the text: the files that a configuration names.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "config/load.h"
#include "crypto/certificates.h"

namespace pqedge::config {
namespace {

class ConfigFiles : public ::testing::Test {
 protected:
  ConfigFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pqedge-test-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
    const auto a = crypto::make_self_signed({"a.test"});
    const auto b = crypto::make_self_signed({"b.test"});
    write("a.pem", a->chain);
    write("a.key", a->key);
    write("b.key", b->key);
    write("junk.pem", "no certificate\n");
  }
  ~ConfigFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  void write(const std::string& name, std::string_view text) {
    std::ofstream(dir_ / name) << text;
    ::chmod((dir_ / name).c_str(), 0600);
  }

  // The configuration file is named by an absolute path; relative names in it start beside it.
  Result<Configuration> load(const std::string& more) {
    write("edge.toml", R"(version = 1
[[listener]]
address = "127.0.0.1:8443"
[[route]]
status = 204
)" + more);
    return load_file(dir_ / "edge.toml");
  }
  Result<Configuration> with_certificate(const std::string& chain, const std::string& key) {
    return load("[[certificate]]\nchain = \"" + chain + "\"\nkey = \"" + key + "\"\n");
  }
  void expect_problem(const Result<Configuration>& c, const std::string& start,
                      const std::string& part) {
    ASSERT_FALSE(c.has_value());
    const std::string& m = c.error().message;
    EXPECT_TRUE(m.starts_with((dir_ / "edge.toml").string() + start)) << m;
    EXPECT_NE(m.find(part), std::string::npos) << m;
    EXPECT_EQ(m.find('\n'), std::string::npos) << m;
  }

  std::filesystem::path dir_;
};

TEST_F(ConfigFiles, ACertificateWithItsKeyIsGood) {
  const auto c = with_certificate("a.pem", "a.key");
  ASSERT_TRUE(c.has_value()) << c.error().message;
  EXPECT_EQ(c->edge.tls.certificates.at(0).chain_file, dir_ / "a.pem");
}

TEST_F(ConfigFiles, AKeyThatDoesNotFitIsToldAtItsLine) {
  expect_problem(with_certificate("a.pem", "b.key"), ":8:1: certificate[0].key: ", "b.key");
}

TEST_F(ConfigFiles, MissingAndUnreadableFiles) {
  expect_problem(with_certificate("none.pem", "a.key"),
                 ":7:1: certificate[0].chain: ", "none.pem\": No such file or directory");
  expect_problem(with_certificate("a.pem", "none.key"),
                 ":8:1: certificate[0].key: ", "none.key\": No such file or directory");
  expect_problem(with_certificate(".", "a.key"), ":7:1: certificate[0].chain: ", "is not a file");
  expect_problem(with_certificate("junk.pem", "a.key"), ":7:1: certificate[0].chain: ", "junk.pem");
  expect_problem(with_certificate("a.pem", "junk.pem"), ":8:1: certificate[0].key: ", "junk.pem");
}

TEST_F(ConfigFiles, BothFilesOfACertificateAreTold) {
  const auto c = with_certificate("none.pem", "none.key");
  ASSERT_FALSE(c.has_value());
  EXPECT_NE(c.error().message.find("certificate[0].chain: "), std::string::npos);
  EXPECT_NE(c.error().message.find("\n"), std::string::npos);
  EXPECT_NE(c.error().message.find("certificate[0].key: "), std::string::npos);
}

TEST_F(ConfigFiles, DirectoriesOfLogsAndSocketsMustBeThere) {
  const std::string tls = "[[certificate]]\nchain = \"a.pem\"\nkey = \"a.key\"\n";
  expect_problem(load(tls + "[logging]\naccess = \"none/access.log\"\n"),
                 ":10:1: logging.access: ", "there is no directory");
  expect_problem(load(tls + "[logging]\nerror = \"/tmp\"\n"),
                 ":10:1: logging.error: ", "is a directory");
  expect_problem(load(tls + "[admin]\ncontrol_socket = \"none/control\"\n"),
                 ":10:1: admin.control_socket: ", "there is no directory");
  expect_problem(load(tls + "[debug]\nclient = \"192.0.2.1\"\nqlog_dir = \"none\"\n"),
                 ":11:1: debug.qlog_dir: ", "there is no directory");
  EXPECT_TRUE(load(tls + "[logging]\naccess = \"access.log\"\nerror = \"-\"\n").has_value());
}

TEST_F(ConfigFiles, TlsNamesAreCheckedByTheLibrary) {
  const std::string tls = "[[certificate]]\nchain = \"a.pem\"\nkey = \"a.key\"\n[tls]\n";
  expect_problem(load(tls + "groups = [\"X25519MLKEM786\"]\n"),
                 ":10:1: tls.groups: ", "X25519MLKEM768");
  expect_problem(load(tls + "ciphers = [\"TLS_AES_256_GCM_SHA348\"]\n"),
                 ":10:12: tls.ciphers[0]: ", "did you mean \"TLS_AES_256_GCM_SHA384\"?");
  expect_problem(load(tls + "signature_algorithms = [\"ecdsa\"]\n"),
                 ":10:25: tls.signature_algorithms[0]: ", "signature algorithm");
}

TEST_F(ConfigFiles, AFileThatCannotBeReadIsNamed) {
  const auto missing = load_file("/nonexistent/edge.toml");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message,
            "/nonexistent/edge.toml: cannot read the configuration: No such file or directory");
  EXPECT_FALSE(load_file(dir_).has_value());
  write("large.toml", "#");
  std::filesystem::resize_file(std::filesystem::path(dir_ / "large.toml"), (16 << 20) + 1);
  const auto large = load_file(dir_ / "large.toml");
  ASSERT_FALSE(large.has_value());
  EXPECT_NE(large.error().message.find("larger than 16MiB"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::config
