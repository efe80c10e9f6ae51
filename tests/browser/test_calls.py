"""What a page's scripts do beyond loading: gRPC-Web by fetch (P13) and WebSocket (P10), in headless
Chromium over HTTP/1.1, 2 and 3."""
# ctest: timeout=180

import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402
import websocket_clients  # noqa: E402
from devtools import Browser  # noqa: E402
from harness import pool, route  # noqa: E402
from test_chromium import spki_hash  # noqa: E402
from test_grpc import Service  # noqa: E402

PAGE = r"""<!doctype html><meta charset=utf-8><title>page</title><link rel=icon href="data:,"><script>
const fetched = async (method, message, text, options = {}) => {
  const bytes = new TextEncoder().encode(message);
  const frame = new Uint8Array(5 + bytes.length);
  new DataView(frame.buffer).setUint32(1, bytes.length);
  frame.set(bytes, 5);
  const type = 'application/grpc-web' + (text ? '-text' : '') + '+proto';
  return fetch('/test.Echo/' + method, {
    method: 'POST', headers: {'Content-Type': type, 'X-Grpc-Web': '1'},
    body: text ? btoa(String.fromCharCode(...frame)) : frame, ...options});
};
// Pieces of base64, each with its own padding.
const decoded = text => Uint8Array.from(
  text.match(/[^=]{4}|[^=]{2,3}=+/g)?.map(atob).join('') ?? '', c => c.charCodeAt(0));

async function call(method, message, text) {
  const answer = await fetched(method, message, text);
  const body = new Uint8Array(await answer.arrayBuffer());
  const data = text ? decoded(new TextDecoder().decode(body)) : body;
  const out = {http: answer.status, head: answer.headers.get('grpc-status'),
               first: answer.headers.get('x-first'), messages: [], end: {}};
  for (let at = 0; at < data.length;) {
    const size = new DataView(data.buffer, at).getUint32(1);
    const piece = new TextDecoder().decode(data.subarray(at + 5, at + 5 + size));
    if (data[at] & 0x80) {
      for (const line of piece.trim().split('\r\n')) {
        const colon = line.indexOf(':');
        out.end[line.slice(0, colon)] = line.slice(colon + 1).trim();
      }
    } else {
      out.messages.push(piece);
    }
    at += 5 + size;
  }
  return out;
}

async function cancelled() {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 300);
  return fetched('Waits', '', false, {signal: controller.signal}).then(() => 'answered', e => e.name);
}

function chat(path, large) {
  return new Promise(done => {
    const seen = [];
    const socket = new WebSocket('wss://' + location.host + path, ['chat.v1', 'chat.v2']);
    socket.binaryType = 'arraybuffer';
    const sent = new Uint8Array(large).map((_, i) => i * 7);
    socket.onopen = () => { socket.send('grüße'); socket.send(sent); };
    socket.onmessage = ({data}) => {
      const text = typeof data === 'string';
      seen.push(text ? data : new Uint8Array(data).every((b, i) => b === sent[i]) && data.byteLength);
      if (!text) socket.close(4001, 'that is all');
    };
    socket.onclose = e => done({seen, code: e.code, reason: e.reason, clean: e.wasClean,
                                protocol: socket.protocol, extensions: socket.extensions});
  });
}
</script>"""


class Calls(harness.TestCase):
    def setUp(self):
        super().setUp()
        chromium = shutil.which("chromium")
        if not chromium:
            if os.environ.get("CI"):
                self.fail("chromium is not installed")
            self.skipTest("chromium is not installed")
        self.service = Service()
        self.addCleanup(self.service.server.stop, None)
        self.chat = websocket_clients.Server(self.talk, subprotocols=["chat.v2"])
        self.addCleanup(self.chat.stop)
        one, three = harness.free_port(), harness.free_port()
        self.proxy = self.edge(
            f'[[listener]]\nname = "one"\naddress = "127.0.0.1:{one}"\nprotocols = ["http/1.1"]\n'
            f'[[listener]]\nname = "three"\naddress = "127.0.0.1:{three}"\nprotocols = ["h2", "h3"]\n'
            + pool(self.backend(self.page_of).address, name="pages") + pool(self.chat.address, name="chat")
            + pool(f"127.0.0.1:{self.service.port}", name="grpc", protocol="h2c")
            + route("grpc", name="grpc", path_prefix="/test.Echo") + route("chat", name="chat", path_prefix="/chat")
            + route("pages", name="pages"), listener_toml='protocols = ["http/1.1", "h2"]')
        self.ports = {"HTTP/1.1": one, "HTTP/2": self.proxy.port, "HTTP/3": three}
        browser = Browser(chromium, self.directory, f"--origin-to-force-quic-on=127.0.0.1:{three}",
                          f"--ignore-certificate-errors-spki-list={spki_hash(self.proxy.certificate.chain)}")
        self.addCleanup(browser.close)
        self.page = browser.page()

    @staticmethod
    def page_of(sock, number):
        page = PAGE.encode()
        reader = harness.RequestReader(sock)
        while reader.read() is not None:
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page) + page)

    @staticmethod
    def talk(connection):
        if connection.request.path == "/chat/bye":
            connection.close(4002, "the server's")
            return
        websocket_clients.Server.echo(connection)

    def open(self, version):
        self.page.open(f"https://127.0.0.1:{self.ports[version]}/")

    def run_script(self, expression):
        return json.loads(self.page.evaluate(f"(async () => JSON.stringify(await {expression}))()"))

    def records(self, count, prefix, version):
        return self.proxy.wait_access(
            count, lambda r: r["path"].startswith(prefix) and r["http_version"] == version)

    def test_grpc_web_by_fetch(self):
        for version in self.ports:
            self.open(version)
            for text in ("true", "false"):
                with self.subTest(version=version, text=text):
                    out = self.run_script(f"call('Unary', 'hello', {text})")
                    self.assertEqual((out["http"], out["head"], out["first"]), (200, None, "1"))
                    self.assertEqual(out["messages"], ["HELLO"])
                    self.assertEqual((out["end"]["grpc-status"], out["end"]["x-last"]), ("0", "2"))
                    out = self.run_script(f"call('Down', '40', {text})")
                    self.assertEqual(out["messages"], [f"message {i}" for i in range(40)])
                    out = self.run_script(f"call('Fails', '', {text})")
                    self.assertEqual((out["messages"], out["end"]["grpc-status"]), (["one", "two"], "10"))
                    # K58: in the head, where a script sees it.
                    out = self.run_script(f"call('FailsAtOnce', '', {text})")
                    self.assertEqual((out["head"], out["messages"], out["end"]), ("10", [], {}))
            self.assertEqual(self.run_script("cancelled()"), "AbortError")
            self.assertTrue(self.service.cancelled.wait(harness.WAIT), "the server was not told")
            self.service.cancelled.clear()
            self.records(9, "/test.Echo/", version)

    def test_websocket(self):
        for version in ("HTTP/1.1", "HTTP/2"):
            with self.subTest(version=version):
                self.open(version)
                out = self.run_script("chat('/chat/echo', 300000)")
                self.assertEqual(out["seen"], ["grüße", 300_000])
                self.assertEqual((out["code"], out["reason"], out["clean"]), (4001, "that is all", True))
                self.assertEqual(out["protocol"], "chat.v2")
                self.assertIn("permessage-deflate", out["extensions"])
                out = self.run_script("chat('/chat/bye', 1)")
                self.assertEqual((out["code"], out["reason"], out["clean"]), (4002, "the server's", True))
                # Over the connection of the page where that is HTTP/2 (RFC 8441).
                statuses = {r["status"] for r in self.records(2, "/chat/", version)}
                self.assertEqual(statuses, {101 if version == "HTTP/1.1" else 200})
        self.assertEqual(self.page.problems(), [])


if __name__ == "__main__":
    harness.main()
