#include "measure/limits/servers.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/time.h"
#include "measure/limits/limits.h"
#include "measure/limits/server_configs.h"
#include "net/socket.h"

namespace pqedge::measure {
namespace {

constexpr double kStartSeconds = 10;
constexpr useconds_t kPoll = 10'000;

struct Program {
  std::string_view name;
  std::array<std::string_view, 2> binaries;
  const char* version_flag;
};

constexpr std::array<Program, 6> kPrograms{{
    {"nginx", {"nginx", ""}, "-v"},
    {"HAProxy", {"haproxy", ""}, "-v"},
    {"Node", {"node", "nodejs"}, "--version"},
    {"Apache", {"apache2", "httpd"}, "-v"},
    {"Caddy", {"caddy", ""}, "version"},
    {"pqedge", {"pqedge", ""}, "--version"},
}};

const Program& program_of(std::string_view name) {
  for (const Program& program : kPrograms) {
    if (program.name == name) return program;
  }
  return kPrograms.front();  // names were checked
}

// Free for TCP and for UDP at this moment.
Result<uint16_t> free_port() {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const auto any = net::Address::from_ip("127.0.0.1", 0);
    if (!any) return std::unexpected(any.error());
    const net::Fd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!tcp || ::bind(tcp.get(), any->data(), any->size()) != 0) break;
    const auto taken = net::local_address(tcp.get());
    if (!taken) return std::unexpected(taken.error());
    const net::Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (udp && ::bind(udp.get(), taken->data(), taken->size()) == 0) return taken->port();
  }
  return fail("no free port on 127.0.0.1");
}

bool answers(uint16_t port) {
  const auto address = net::Address::from_ip("127.0.0.1", port);
  const net::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return address && fd && ::connect(fd.get(), address->data(), address->size()) == 0;
}

Result<void> wait_until_ready(Child& child, const ServerPorts& ports, const std::string& log) {
  const Nanos end = monotonic_now() + static_cast<Nanos>(kStartSeconds) * kSecond;
  while (!answers(ports.plain) || !answers(ports.secure)) {
    if (!child.running()) {
      std::string text = read_text(log);
      if (text.size() > 500) text.erase(0, text.size() - 500);
      return fail("ended at its start: {}", text);
    }
    if (monotonic_now() > end) return fail("was not ready within {} seconds", kStartSeconds);
    ::usleep(kPoll);
  }
  return {};
}

// Below the same prefix as the program, or where distributions keep them.
std::string apache_modules(const std::string& binary) {
  const std::filesystem::path prefix = std::filesystem::path(binary).parent_path().parent_path();
  const std::string beside = (prefix / "lib/apache2/modules").string();
  std::error_code error;
  for (const std::string& folder :
       {beside, std::string("/usr/lib/apache2/modules"), std::string("/usr/lib64/httpd/modules")}) {
    if (std::filesystem::exists(folder + "/mod_http2.so", error)) return folder;
  }
  return beside;
}

// The first word that looks like a version: "1.26.3" of "nginx version: nginx/1.26.3".
std::string version_in(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t digit = word.find_first_of("0123456789");
    if (digit != std::string::npos && word.find('.', digit) != std::string::npos) {
      return word.substr(digit);
    }
  }
  return "unknown";
}

Result<std::vector<std::string>> command_of(const Program& program, const std::string& binary,
                                            const ServerFiles& files, const ServerPorts& ports,
                                            bool http3) {
  const auto write = [&](const char* name, const std::string& text) {
    return files.workspace.write(name, text);
  };
  if (program.name == "nginx") {
    auto config = write("nginx.conf", nginx_config(files, ports, http3));
    if (!config) return std::unexpected(config.error());
    return std::vector<std::string>{binary, "-e",   "stderr", "-p", files.workspace.path(),
                                    "-c",   *config};
  }
  if (program.name == "HAProxy") {
    auto config = write("haproxy.cfg", haproxy_config(files, ports, http3));
    if (!config) return std::unexpected(config.error());
    return std::vector<std::string>{binary, "-db", "-f", *config};
  }
  if (program.name == "Node") {
    auto script = write("server.js", node_script(files, ports));
    if (!script) return std::unexpected(script.error());
    return std::vector<std::string>{binary, *script};
  }
  if (program.name == "Apache") {
    std::error_code error;
    std::filesystem::create_directory(files.workspace.path() + "/apache-root", error);
    if (auto page = write("apache-root/index.html", "ok"); !page) {
      return std::unexpected(page.error());
    }
    auto config = write("apache.conf", apache_config(files, ports, apache_modules(binary)));
    if (!config) return std::unexpected(config.error());
    return std::vector<std::string>{binary, "-D", "FOREGROUND", "-f", *config};
  }
  if (program.name == "Caddy") {
    auto config = write("Caddyfile", caddy_config(files, ports));
    if (!config) return std::unexpected(config.error());
    // It keeps what it was given and its locks in the user's folders, unless they are elsewhere.
    const std::string& folder = files.workspace.path();
    return std::vector<std::string>{find_program("env").value_or("/usr/bin/env"),
                                    "XDG_CONFIG_HOME=" + folder,
                                    "XDG_DATA_HOME=" + folder,
                                    binary,
                                    "run",
                                    "--adapter",
                                    "caddyfile",
                                    "--config",
                                    *config};
  }
  auto config = write("pqedge.toml", pqedge_config(files, ports));
  if (!config) return std::unexpected(config.error());
  return std::vector<std::string>{binary, "--config", *config};
}

Result<RunningServer> try_start(const Program& program, const std::string& binary,
                                const ServerFiles& files, bool http3) {
  ServerPorts ports;
  for (uint16_t* port : {&ports.plain, &ports.secure, &ports.admin}) {
    const auto found = free_port();
    if (!found) return std::unexpected(found.error());
    *port = *found;
  }
  const auto command = command_of(program, binary, files, ports, http3);
  if (!command) return std::unexpected(command.error());
  const std::string log = files.workspace.path() + "/" + std::string(program.name) + ".log";
  auto child = Child::start(*command, log);
  if (!child) return std::unexpected(child.error());
  if (auto ready = wait_until_ready(*child, ports, log); !ready) {
    return fail("{} {}", binary, ready.error().message);
  }
  return RunningServer{.software = std::string(program.name),
                       .version = {},
                       .plain_port = ports.plain,
                       .secure_port = ports.secure,
                       .http3 = http3,
                       .child = std::move(*child)};
}

bool may_speak_http3(std::string_view program) { return program != "Node" && program != "Apache"; }

}  // namespace

std::span<const std::string_view> limit_programs() {
  static constexpr std::array<std::string_view, 6> kNames{"nginx",  "HAProxy", "Node",
                                                          "Apache", "Caddy",   "pqedge"};
  return kNames;
}

std::string binaries_of(std::string_view program) {
  const Program& known = program_of(program);
  std::string text(known.binaries[0]);
  if (!known.binaries[1].empty()) text += " or " + std::string(known.binaries[1]);
  return text;
}

Result<std::optional<RunningServer>> start_server(std::string_view program,
                                                  const std::string& path_or_empty,
                                                  const ServerFiles& files) {
  const Program& known = program_of(program);
  std::optional<std::string> binary;
  if (!path_or_empty.empty()) {
    if (::access(path_or_empty.c_str(), X_OK) != 0) {
      return fail_errno(errno, "{}: cannot be run", path_or_empty);
    }
    binary = path_or_empty;
  }
  for (const std::string_view name : known.binaries) {
    if (!binary && !name.empty()) binary = find_program(name);
  }
  if (!binary) return std::optional<RunningServer>();
  // Not every build speaks HTTP/3: what refuses the lines for it is started without them.
  auto server = try_start(known, *binary, files, may_speak_http3(program));
  if (!server && may_speak_http3(program)) server = try_start(known, *binary, files, false);
  if (!server) return std::unexpected(server.error());
  const auto version = output_of({*binary, known.version_flag}, files.workspace);
  server->version = version ? version_in(*version) : "unknown";
  return std::optional<RunningServer>(std::move(*server));
}

}  // namespace pqedge::measure
