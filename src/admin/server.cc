#include "admin/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <format>

#include "admin/listener.h"
#include "admin/site.h"

namespace pqedge::admin {
namespace {

// Who can write to the directory can replace the socket by one of his own.
Result<void> check_directory(const std::string& socket) {
  const std::string directory = std::filesystem::path(socket).parent_path().string();
  struct stat info{};
  if (::stat(directory.c_str(), &info) != 0) {
    return fail_errno(errno, "control socket {}: {}", socket, directory);
  }
  const bool shared = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0;
  const bool ours = info.st_uid == 0 || info.st_uid == ::geteuid();
  if (shared || !ours) {
    return fail(
        "control socket {}: other users can write to {}; put it into a directory of its own "
        "with mode 0755 or less",
        socket, directory);
  }
  return {};
}

Result<net::Fd> listen_control(const std::string& path) {
  if (const auto ok = check_directory(path); !ok) return std::unexpected(ok.error());
  const auto address = net::Address::parse("unix:" + path);
  if (!address) return std::unexpected(address.error());
  // bind() gives the file its mode: there is no moment in which others could connect. What other
  // threads make meanwhile is kept from others as well.
  const mode_t before = ::umask(0177);
  auto fd = net::listen_stream(*address, {.backlog = 16, .reuse_port = false});
  ::umask(before);
  return fd;
}

// A descriptor's file as the file system knows it, to see whether a path still leads to it.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
};
FileId file_id(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? FileId{info.st_dev, info.st_ino} : FileId{};
}

Result<std::optional<Token>> load_token(const Settings& settings) {
  if (settings.token_file.empty()) return std::nullopt;
  auto token = Token::load(settings.token_file);
  if (!token) return fail("admin.token_file: {}", token.error().message);
  return *token;
}

std::string listed(const std::vector<net::Address>& addresses) {
  std::string out;
  for (const auto& a : addresses) out += (out.empty() ? "" : ", ") + a.to_string();
  return out;
}

}  // namespace

Server::Server() = default;

Result<std::unique_ptr<Server>> Server::start(const Settings& settings, Hooks hooks,
                                              std::vector<Socket> passed) {
  std::unique_ptr<Server> server(new Server);
  server->settings_ = settings;
  auto loop = net::Loop::create();
  if (!loop) return std::unexpected(loop.error());
  server->loop_ = std::move(*loop);
  server->site_ = std::make_unique<Site>(std::move(hooks), settings.hosts);
  auto token = load_token(settings);
  if (!token) return std::unexpected(token.error());
  server->site_->set_token(*token);
  if (const auto ok = server->bind_all(std::move(passed)); !ok) return std::unexpected(ok.error());

  // Signals are the main thread's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  server->thread_ = std::thread([s = server.get()] {
    s->loop_->run();
    s->listeners_.clear();  // and their connections, on the thread that they live on
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return server;
}

Result<void> Server::bind_all(std::vector<Socket> passed) {
  const auto take = [&](const net::Address& address, bool control) {
    const auto it = std::ranges::find_if(passed, [&](const Socket& s) {
      return s.fd && s.control == control && s.address == address;
    });
    return it == passed.end() ? net::Fd() : std::move(it->fd);
  };
  const auto listen = [this](Result<net::Fd> fd, Side side) -> Result<void> {
    if (!fd) return std::unexpected(fd.error());
    auto listener = Listener::create(*loop_, *site_, side, std::move(*fd));
    if (!listener) return std::unexpected(listener.error());
    listeners_.push_back(std::move(*listener));
    return {};
  };
  for (const net::Address& address : settings_.listen) {
    Result<net::Fd> fd = take(address, false);
    if (!*fd) fd = net::listen_stream(address, {.backlog = 64, .reuse_port = false});
    if (!fd) {
      return std::unexpected(
          Error{std::format("admin.listen {}: {}", address.to_string(), fd.error().message),
                fd.error().code});
    }
    const auto bound = net::local_address(fd->get());
    addresses_.push_back(bound ? *bound : address);
    if (const auto ok = listen(std::move(*fd), Side::pages); !ok) return ok;
  }
  if (settings_.control_socket.empty()) return {};
  const auto control = net::Address::parse("unix:" + settings_.control_socket);
  Result<net::Fd> fd = control ? take(*control, true) : net::Fd();
  if (!*fd) fd = listen_control(settings_.control_socket);
  if (const auto ok = listen(std::move(fd), Side::control); !ok) {
    return std::unexpected(
        Error{std::format("admin.control_socket: {}", ok.error().message), ok.error().code});
  }
  const FileId id = file_id(settings_.control_socket);
  control_device_ = id.device;
  control_inode_ = id.inode;
  return {};
}

Server::~Server() {
  if (thread_.joinable()) {
    loop_->stop();
    thread_.join();
  }
  listeners_.clear();
  // The path may belong to a new process by now.
  const FileId id = file_id(settings_.control_socket);
  if (control_inode_ != 0 && id.device == control_device_ && id.inode == control_inode_) {
    ::unlink(settings_.control_socket.c_str());
  }
}

Result<std::vector<Server::Socket>> Server::sockets() const {
  std::vector<Socket> all;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    const bool control = i == settings_.listen.size();
    auto address = control ? net::Address::parse("unix:" + settings_.control_socket)
                           : Result<net::Address>(settings_.listen[i]);
    if (!address) return std::unexpected(address.error());
    net::Fd copy(fcntl(listeners_[i]->fd(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return fail_errno(errno, "cannot duplicate a socket of the admin side");
    all.push_back({.address = *address, .control = control, .fd = std::move(copy)});
  }
  return all;
}

void Server::release() {
  control_inode_ = 0;
  loop_->post([this] {
    for (const auto& l : listeners_) l->stop_accepting();
  });
}

std::string Server::update(const Settings& settings) {
  loop_->post([this, hosts = settings.hosts] { site_->set_hosts(hosts); });
  settings_.hosts = settings.hosts;
  std::string restart;
  if (auto token = load_token(settings)) {
    loop_->post([this, t = *token] { site_->set_token(t); });
    settings_.token_file = settings.token_file;
  } else {
    restart = "the token stays as it was: " + token.error().message;
  }
  if (settings.listen != settings_.listen) {
    if (!restart.empty()) restart += "; ";
    restart += std::format("admin.listen stays {} until a restart",
                           settings_.listen.empty() ? "empty" : listed(settings_.listen));
  }
  if (settings.control_socket != settings_.control_socket) {
    if (!restart.empty()) restart += "; ";
    restart += std::format("admin.control_socket stays {} until a restart",
                           settings_.control_socket.empty() ? "empty" : settings_.control_socket);
  }
  return restart;
}

}  // namespace pqedge::admin
