"""The command line, and what a bad configuration is told (O1)."""

import os
import signal
import socket
import subprocess

import harness


class CommandLine(harness.TestCase):
    def pqedge(self, *args, **kwargs):
        done = harness.run(harness.PQEDGE, *args, **kwargs)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def file(self, text):
        path = self.directory / "edge.toml"
        path.write_text(text)
        return path

    def base(self):
        certificate = harness.Certificate(self.directory)
        return (f'version = 1\n[[listener]]\nname = "https"\naddress = "127.0.0.1:'
                f'{harness.free_port()}"\n[[certificate]]\nchain = "{certificate.chain}"\n'
                f'key = "{certificate.key}"\n' + harness.pool("127.0.0.1:9") + harness.route())

    def test_version_names_the_libraries(self):
        code, out, _ = self.pqedge("version")
        self.assertEqual(code, 0)
        for library in ("pqedge", "OpenSSL 3", "ngtcp2", "nghttp3", "nghttp2"):
            self.assertIn(library, out)

    def test_the_example_is_a_whole_configuration(self):
        code, out, _ = self.pqedge("example-config")
        self.assertEqual(code, 0)
        self.assertIn("version = 1", out)
        self.assertIn("[[listener]]", out)

    def test_unknown_arguments_are_refused(self):
        for args in (("--nonsense",), ("frobnicate",), ("check",), ("--config",)):
            code, out, err = self.pqedge(*args)
            self.assertNotEqual(code, 0, args)
            self.assertTrue(err + out)

    def test_check_says_good(self):
        code, out, err = self.pqedge("check", self.file(self.base()))
        self.assertEqual(code, 0, err)

    def test_check_and_start_refuse_alike(self):
        good = self.base()
        cases = {
            "unknown key": (good + "[limits]\nmax_feilds = 3\n", ["max_feilds", "max_fields"]),
            "wrong type": (good + '[server]\nworkers = "two"\n', ["server.workers"]),
            "unknown pool": (good + harness.route("ap", name="b", path="/b"), ["ap", "app"]),
            "missing file": (good.replace("cert.pem", "gone.pem"), ["gone.pem"]),
            "unreachable": (good + harness.route(name="again"), ["route[1]", "all", "line 11"]),
            "bad group": (good + '[tls]\ngroups = ["X25519MLKEM76"]\n', ["X25519MLKEM76"]),
            "syntax": (good + "[[route]\n", [":"]),
            "no version": (good.replace("version = 1\n", ""), ["version"]),
            "future version": (good.replace("version = 1\n", "version = 2\n"), ["version"]),
        }
        for name, (text, words) in cases.items():
            with self.subTest(name):
                path = self.file(text)
                checked = self.pqedge("check", path)
                started = self.pqedge("--config", path)
                for code, _, err in (checked, started):
                    self.assertEqual(code, 1, err)
                    self.assertIn(f"{path}:", err)
                    for word in words:
                        self.assertIn(word, err)

    def test_a_certificate_that_does_not_fit_its_key(self):
        text = self.base()
        other = harness.Certificate(self.directory, stem="other")
        path = self.file(text.replace("cert.key", "other.key"))
        code, _, err = self.pqedge("check", path)
        self.assertEqual(code, 1)
        self.assertIn("other.key", err)
        self.assertRegex(err, rf"{path}:\d+:\d+")

    def test_a_port_in_use(self):
        text = self.base()
        port = int(text.split("127.0.0.1:")[1].split('"')[0])
        path = self.file(text)
        with socket.create_server(("127.0.0.1", port)):
            for args in (("check", path), ("--config", path)):
                code, _, err = self.pqedge(*args)
                self.assertEqual(code, 1)
                self.assertIn(str(port), err)
                self.assertIn("https", err)
                self.assertIn(f"process {os.getpid()}", err)

    def test_check_beside_the_running_edge(self):
        origin = self.echo()
        edge = self.edge(harness.pool(origin.address) + harness.route())
        code, out, err = self.pqedge("check", edge.config_path)
        self.assertEqual(code, 0, err)

    def test_a_file_that_is_not_there(self):
        for args in (("check", "/nonexistent/edge.toml"), ("--config", "/nonexistent/edge.toml")):
            code, _, err = self.pqedge(*args)
            self.assertEqual(code, 1)
            self.assertIn("/nonexistent/edge.toml", err)

    def test_systemd_notification(self):
        path = self.directory / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(str(path))
            sock.settimeout(harness.WAIT)
            environment = dict(os.environ, NOTIFY_SOCKET=str(path), WATCHDOG_USEC="200000")
            origin = self.echo()
            edge = self.edge(harness.pool(origin.address) + harness.route(), env=environment,
                             wait=False)
            self.assertEqual(sock.recv(200), b"READY=1")
            self.assertEqual(sock.recv(200), b"WATCHDOG=1")
            edge.send_signal(signal.SIGHUP)
            seen = self.until(sock, b"READY=1")
            self.assertTrue(any(m.startswith(b"RELOADING=1\nMONOTONIC_USEC=") for m in seen), seen)
            edge.send_signal(signal.SIGTERM)
            self.until(sock, b"STOPPING=1")

    def until(self, sock, wanted):
        seen = []
        while wanted not in seen:
            seen.append(sock.recv(200))
        return seen

    def test_the_default_configuration(self):
        # The ports are fixed: where another test or program has them, the message says so.
        log = self.directory / "default.log"
        process = harness.Process([harness.PQEDGE], log)
        self.addCleanup(process.kill)
        def up():
            if not process.alive():
                return True
            return harness.run("curl", "-sk", "https://localhost:8443/status/204").returncode == 0
        harness.wait_for(up, "the demonstration")
        if not process.alive():
            self.assertIn("8443", process.log())
            self.skipTest("port 8443, 8080 or 8081 is in use here")
        for version in ("--http1.1", "--http2", "--http3-only"):
            page = harness.run("curl", "-sSk", version, "https://localhost:8443/")
            self.assertIn(b"X25519MLKEM768", page.stdout)
        moved = harness.run("curl", "-s", "-i", "http://localhost:8080/a?b=c")
        self.assertIn(b" 308 ", moved.stdout)
        self.assertIn(b"location: https://localhost:8443/a?b=c", moved.stdout.lower())
        self.assertIn(b"pqedge_requests_total", harness.run(
            "curl", "-s", "http://127.0.0.1:8081/metrics").stdout)
        sizes = harness.run("curl", "-sSk", "--http3-only", "https://localhost:8443/bytes/1000000",
                            "-o", "/dev/null", "-w", "%{size_download}")
        self.assertEqual(sizes.stdout, b"1000000")
        echo = harness.run("curl", "-sSk", "--http2", "-d", "hello", "https://localhost:8443/echo")
        self.assertEqual(echo.stdout, b"hello")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.process.wait(harness.WAIT), 0)


if __name__ == "__main__":
    harness.main()
