#include "measure/limits/server_configs.h"

#include <format>

namespace pqedge::measure {

std::string nginx_config(const ServerFiles& files, const ServerPorts& ports, bool http3) {
  const std::string& folder = files.workspace.path();
  return std::format(
      "daemon off;\n"
      "worker_processes 1;\n"
      "pid {0}/nginx.pid;\n"
      "error_log {0}/nginx-error.log;\n"
      "events {{}}\n"
      "http {{\n"
      "  access_log off;\n"
      "  client_body_temp_path {0}/nginx-body;\n"
      "  proxy_temp_path {0}/nginx-proxy;\n"
      "  fastcgi_temp_path {0}/nginx-fastcgi;\n"
      "  uwsgi_temp_path {0}/nginx-uwsgi;\n"
      "  scgi_temp_path {0}/nginx-scgi;\n"
      "  server {{\n"
      "    listen 127.0.0.1:{1};\n"
      "    listen 127.0.0.1:{2} ssl;\n"
      "{3}"
      "    http2 on;\n"
      "    ssl_certificate {4};\n"
      "    ssl_certificate_key {5};\n"
      "    location / {{ return 200 ok; }}\n"
      "  }}\n"
      "}}\n",
      folder, ports.plain, ports.secure,
      http3 ? std::format("    listen 127.0.0.1:{} quic;\n", ports.secure) : std::string(),
      files.certificate, files.key);
}

std::string haproxy_config(const ServerFiles& files, const ServerPorts& ports, bool http3) {
  // Over a TLS library without its own QUIC interface HAProxy wants to be told so.
  return std::format(
      "global\n"
      "{0}"
      "defaults\n"
      "  mode http\n"
      "  timeout connect 5s\n"
      "  timeout client 10s\n"
      "  timeout server 10s\n"
      "frontend asked\n"
      "  bind 127.0.0.1:{1}\n"
      "  bind 127.0.0.1:{2} ssl crt {3} alpn h2,http/1.1\n"
      "{4}"
      "  http-request return status 200 content-type text/plain string ok\n",
      http3 ? "  limited-quic\n" : "", ports.plain, ports.secure, files.both,
      http3
          ? std::format("  bind quic4@127.0.0.1:{} ssl crt {} alpn h3\n", ports.secure, files.both)
          : std::string());
}

std::string node_script(const ServerFiles& files, const ServerPorts& ports) {
  return std::format(
      "const fs = require('fs');\n"
      "const answer = (request, response) => {{ request.resume(); response.end('ok'); }};\n"
      "require('http').createServer(answer).listen({0}, '127.0.0.1');\n"
      "const tls = {{ key: fs.readFileSync('{1}'), cert: fs.readFileSync('{2}') }};\n"
      "require('http2').createSecureServer(tls, answer).listen({3}, '127.0.0.1');\n",
      ports.plain, files.key, files.certificate, ports.secure);
}

std::string apache_config(const ServerFiles& files, const ServerPorts& ports,
                          const std::string& modules) {
  const std::string& folder = files.workspace.path();
  return std::format(
      "ServerRoot \"{0}\"\n"
      "ServerName localhost\n"
      "PidFile {0}/apache.pid\n"
      "ErrorLog {0}/apache-error.log\n"
      "LoadModule mpm_event_module {1}/mod_mpm_event.so\n"
      "LoadModule authz_core_module {1}/mod_authz_core.so\n"
      "LoadModule dir_module {1}/mod_dir.so\n"
      "LoadModule ssl_module {1}/mod_ssl.so\n"
      "LoadModule http2_module {1}/mod_http2.so\n"
      "Listen 127.0.0.1:{2}\n"
      "Listen 127.0.0.1:{3}\n"
      "DocumentRoot {0}/apache-root\n"
      "<Directory \"{0}/apache-root\">\n"
      "  Require all granted\n"
      "</Directory>\n"
      "<VirtualHost 127.0.0.1:{3}>\n"
      "  SSLEngine on\n"
      "  SSLCertificateFile {4}\n"
      "  SSLCertificateKeyFile {5}\n"
      "  Protocols h2 http/1.1\n"
      "</VirtualHost>\n",
      folder, modules, ports.plain, ports.secure, files.certificate, files.key);
}

std::string caddy_config(const ServerFiles& files, const ServerPorts& ports) {
  return std::format(
      "{{\n"
      "  admin off\n"
      "  auto_https off\n"
      "}}\n"
      "http://127.0.0.1:{0} {{\n"
      "  respond ok\n"
      "}}\n"
      "https://127.0.0.1:{1}, https://localhost:{1} {{\n"
      "  tls {2} {3}\n"
      "  respond ok\n"
      "}}\n",
      ports.plain, ports.secure, files.certificate, files.key);
}

std::string pqedge_config(const ServerFiles& files, const ServerPorts& ports) {
  const std::string& folder = files.workspace.path();
  return std::format(
      "version = 1\n"
      "[server]\n"
      "workers = 1\n"
      "[admin]\n"
      "listen = [\"127.0.0.1:{0}\"]\n"
      "control_socket = \"{1}/control.sock\"\n"
      "[logging]\n"
      "access = \"{1}/access.log\"\n"
      "[[listener]]\n"
      "name = \"plain\"\n"
      "address = \"127.0.0.1:{2}\"\n"
      "tls = false\n"
      "[[listener]]\n"
      "name = \"secure\"\n"
      "address = \"127.0.0.1:{3}\"\n"
      "[[certificate]]\n"
      "chain = \"{4}\"\n"
      "key = \"{5}\"\n"
      "[[pool]]\n"
      "name = \"sink\"\n"
      "servers = [\"{6}\"]\n"
      "[[route]]\n"
      "pool = \"sink\"\n",
      ports.admin, folder, ports.plain, ports.secure, files.certificate, files.key,
      files.backend.to_string());
}

}  // namespace pqedge::measure
