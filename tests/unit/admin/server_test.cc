#include "admin/server.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "admin/validate.h"

namespace pqedge::admin {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pqedge-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Hooks hooks() {
  return {.ready = [] { return true; },
          .reload = []() -> Result<std::string> { return "reloaded"; },
          .reload_certificates = []() -> Result<std::string> { return "certificates: 0"; },
          .drain = [] {},
          .reopen_logs = [] {},
          .status_json = [] { return std::string("{}"); },
          .canaries_json = [] { return std::string("[]"); },
          .set_canary = [](std::string, std::string) -> Result<std::string> { return "set"; }};
}

// Sends `request` over a blocking socket and reads to the end of the answer.
std::string talk(const net::Address& address, const std::string& request) {
  const net::Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), address.data(), address.size()) != 0) return "cannot connect";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "cannot send";
  std::string answer;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  return answer;
}

std::string get(const std::string& path, const std::string& host = "localhost") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
}

Settings on_loopback() {
  Settings s;
  s.listen.push_back(*net::Address::from_ip("127.0.0.1", 0));
  return s;
}

TEST(AdminServer, ServesThePagesOverTcp) {
  const auto server = Server::start(on_loopback(), hooks());
  ASSERT_TRUE(server.has_value()) << server.error().message;
  const net::Address address = (*server)->addresses().at(0);
  const std::string answer = talk(address, get("/healthz"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nok\n")) << answer;
  EXPECT_EQ(answer.find("Access-Control"), std::string::npos) << "no CORS";
  EXPECT_NE(answer.find("Cache-Control: no-store\r\n"), std::string::npos);
  EXPECT_TRUE(talk(address, get("/metrics")).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(talk(address, get("/healthz", "evil.test")).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(talk(address,
                   "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
                   "Connection: close\r\n\r\nabc")
                  .starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(talk(address, "GARBAGE\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

TEST(AdminServer, SeveralRequestsOnOneConnection) {
  const auto server = Server::start(on_loopback(), hooks());
  ASSERT_TRUE(server.has_value());
  const std::string answer =
      talk((*server)->addresses().at(0),
           "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/nothing"));
  EXPECT_NE(answer.find("\r\n\r\nok\nHTTP/1.1 404 "), std::string::npos) << answer;
}

TEST(AdminServer, TheControlSocketIsForItsOwnerAlone) {
  const TemporaryDirectory dir;
  Settings s;
  s.control_socket = dir.file("control");
  {
    const auto server = Server::start(s, hooks());
    ASSERT_TRUE(server.has_value()) << server.error().message;
    struct stat info{};
    ASSERT_EQ(::stat(s.control_socket.c_str(), &info), 0);
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    const net::Address address = *net::Address::parse("unix:" + s.control_socket);
    EXPECT_TRUE(talk(address, get("/status")).ends_with("\r\n\r\n{}\n"));
    EXPECT_TRUE(talk(address,
                     "POST /reload HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                     "Content-Length: 0\r\n\r\n")
                    .ends_with("\r\n\r\nreloaded\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(s.control_socket)) << "it leaves no file behind";
}

TEST(AdminServer, ASocketOfADeadProcessIsReplacedAndALiveOneIsNot) {
  const TemporaryDirectory dir;
  Settings s;
  s.control_socket = dir.file("control");
  const net::Address address = *net::Address::parse("unix:" + s.control_socket);
  {
    const net::Fd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(stale.get(), address.data(), address.size()), 0);
  }
  const auto first = Server::start(s, hooks());
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = Server::start(s, hooks());
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().message.starts_with("admin.control_socket: "));
  EXPECT_TRUE(talk(address, get("/status")).ends_with("{}\n")) << "the first still answers";
}

TEST(AdminServer, ADirectoryThatOthersWriteToIsRefused) {
  const TemporaryDirectory dir;
  Settings s;
  s.control_socket = dir.file("control");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  EXPECT_FALSE(Server::start(s, hooks()).has_value());
  ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
  EXPECT_TRUE(Server::start(s, hooks()).has_value()) << "sticky: nobody replaces another's file";
  s.control_socket = dir.file("missing/control");
  const auto missing = Server::start(s, hooks());
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("missing"), std::string::npos);
}

TEST(AdminServer, APortInUseIsAnErrorWithItsKey) {
  const auto first = Server::start(on_loopback(), hooks());
  ASSERT_TRUE(first.has_value());
  Settings s;
  s.listen = (*first)->addresses();
  const auto second = Server::start(s, hooks());
  ASSERT_FALSE(second.has_value());
  EXPECT_TRUE(second.error().message.starts_with("admin.listen 127.0.0.1:"))
      << second.error().message;
}

TEST(AdminServer, AReloadTakesHostsAndNamesTheRest) {
  const auto server = Server::start(on_loopback(), hooks());
  ASSERT_TRUE(server.has_value());
  Settings s = on_loopback();
  s.hosts = {"new.test"};
  EXPECT_EQ((*server)->update(s), "");
  // The loop runs its posted work before it accepts what comes later.
  EXPECT_TRUE(
      talk((*server)->addresses().at(0), get("/healthz", "new.test")).starts_with("HTTP/1.1 200 "));
  s.listen.clear();
  s.control_socket = "/run/x";
  EXPECT_EQ(
      (*server)->update(s),
      "admin.listen stays 127.0.0.1:0 until a restart; admin.control_socket stays empty until "
      "a restart");
}

TEST(AdminServer, EndsWithClientsConnected) {
  auto server = Server::start(on_loopback(), hooks());
  ASSERT_TRUE(server.has_value());
  const net::Address address = (*server)->addresses().at(0);
  std::vector<net::Fd> clients;
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(clients.back().get(), address.data(), address.size()), 0);
  }
  ASSERT_TRUE(talk(address, get("/healthz")).starts_with("HTTP/1.1 200 "));
  server->reset();
  char byte = 0;
  for (const auto& c : clients) EXPECT_LE(::recv(c.get(), &byte, 1, 0), 0);
}

TEST(AdminServer, NothingToListenOnIsFine) { EXPECT_TRUE(Server::start({}, hooks()).has_value()); }

TEST(AdminValidate, AddressesAndHosts) {
  Settings s;
  s.listen = {*net::Address::parse("127.0.0.1:1"), *net::Address::parse("127.0.0.1:1"),
              *net::Address::parse("0.0.0.0:2"), *net::Address::parse("/run/x")};
  s.hosts = {"a.test", "http://a.test"};
  const Problems p = validate(s);
  ASSERT_EQ(p.size(), 4u);
  EXPECT_EQ(p[0].key, "admin.listen[1]");
  EXPECT_TRUE(p[1].warning);
  EXPECT_EQ(p[2].key, "admin.listen[3]");
  EXPECT_EQ(p[3].key, "admin.hosts[1]");
}

}  // namespace
}  // namespace pqedge::admin
