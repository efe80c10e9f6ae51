"""gRPC and gRPC-Web (P13, K58), with grpcio as client and server."""
# ctest: timeout=180

import base64
import concurrent.futures
import struct
import threading

import grpc

import h2_backend
import harness
from revocation import recipe


def frame(message):
    return struct.pack(">BI", 0, len(message)) + message


def frames(body):
    """[(flags, bytes)] of a body; it must be whole."""
    out = []
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        assert len(body) >= 5 + size, body
        out.append((flags, body[5 : 5 + size]))
        body = body[5 + size :]
    return out


class Service:
    """Of raw bytes, without generated code."""

    def __init__(self):
        self.cancelled = threading.Event()
        self.begun = threading.Event()
        self.remaining = None
        self.metadata = {}
        handlers = {
            "Unary": grpc.unary_unary_rpc_method_handler(self.unary),
            "Down": grpc.unary_stream_rpc_method_handler(self.down),
            "Up": grpc.stream_unary_rpc_method_handler(self.up),
            "Both": grpc.stream_stream_rpc_method_handler(self.both),
            "Fails": grpc.unary_stream_rpc_method_handler(self.fails),
            "FailsAtOnce": grpc.unary_unary_rpc_method_handler(self.fails_at_once),
            "Waits": grpc.unary_unary_rpc_method_handler(self.waits),
        }
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("test.Echo", handlers),))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def unary(self, request, context):
        self.metadata = dict(context.invocation_metadata())
        context.send_initial_metadata((("x-first", "1"),))
        context.set_trailing_metadata((("x-last", "2"), ("x-raw-bin", b"\x00\xff")))
        return request.upper()

    def down(self, request, context):
        for i in range(int(request)):
            yield b"message %d" % i

    def up(self, requests, context):
        return b",".join(requests)

    def both(self, requests, context):
        for r in requests:
            yield b"<" + r + b">"

    def fails(self, request, context):
        yield b"one"
        yield b"two"
        context.abort(grpc.StatusCode.ABORTED, "no more, 100% \u00e4")

    def fails_at_once(self, request, context):
        context.abort(grpc.StatusCode.ABORTED, "not at all")

    def waits(self, request, context):
        self.remaining = context.time_remaining()
        context.add_callback(self.cancelled.set)
        self.begun.set()
        self.cancelled.wait(harness.WAIT)
        return b"late"


class Grpc(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.service = Service()
        self.addCleanup(self.service.server.stop, None)

    def start(self, address=None, **settings):
        address = address or f"127.0.0.1:{self.service.port}"
        self.proxy = self.edge(harness.pool(address, protocol="h2c", **settings)
                               + harness.route(path_prefix="/test.Echo"))
        return self.proxy

    def channel(self):
        credentials = grpc.ssl_channel_credentials(self.proxy.certificate.chain.read_bytes())
        channel = grpc.secure_channel(f"localhost:{self.proxy.port}", credentials)
        self.addCleanup(channel.close)
        return channel

    def post(self, method, body, http, content_type="application/grpc", *args):
        """(head fields, body, trailers) by curl."""
        path = self.directory / "message"
        path.write_bytes(body)
        head = self.directory / "head"
        done = self.proxy.curl(f"/test.Echo/{method}", "-H", f"Content-Type: {content_type}", "-H",
                               "TE: trailers", "--data-binary", f"@{path}", "-D", head, *args,
                               http=http)
        self.assertEqual(done.returncode, 0, done.stderr)
        blocks = [b for b in head.read_bytes().split(b"\r\n\r\n") if b]
        heads = [i for i, b in enumerate(blocks) if b.startswith(b"HTTP/")]
        status, fields = harness.parse_head(blocks[heads[-1]] + b"\r\n\r\n")
        self.assertEqual(status, 200)
        trailers = {}
        for block in blocks[heads[-1] + 1 :]:
            for line in block.split(b"\r\n"):
                name, _, value = line.decode().partition(":")
                trailers[name.lower()] = value.strip()
        # Some versions of curl write them right behind the head.
        return {k: v[0] for k, v in fields.items()}, done.stdout, trailers

    def status_of(self, fields, trailers):
        return trailers.get("grpc-status", fields.get("grpc-status"))

    def wait_failed(self, call):
        with self.assertRaises(grpc.RpcError) as raised:
            call()
        return raised.exception


class Native(Grpc):
    def test_all_four_kinds(self):
        self.start()
        channel = self.channel()
        unary = channel.unary_unary("/test.Echo/Unary")
        answer, call = unary.with_call(b"hello", metadata=(("x-mine", "a"),), timeout=harness.WAIT)
        self.assertEqual(answer, b"HELLO")
        self.assertEqual(self.service.metadata["x-mine"], "a")
        self.assertEqual(dict(call.initial_metadata())["x-first"], "1")
        self.assertEqual(dict(call.trailing_metadata())["x-last"], "2")
        self.assertEqual(dict(call.trailing_metadata())["x-raw-bin"], b"\x00\xff")
        self.assertEqual(list(channel.unary_stream("/test.Echo/Down")(b"500", timeout=harness.WAIT)),
                         [b"message %d" % i for i in range(500)])
        large = [bytes([i]) * 100_000 for i in range(20)]
        self.assertEqual(channel.stream_unary("/test.Echo/Up")(iter(large), timeout=harness.WAIT),
                         b",".join(large))
        # One after the other, each after the answer to the one before.
        answered = threading.Semaphore(1)

        def requests():
            for i in range(20):
                self.assertTrue(answered.acquire(timeout=harness.WAIT))
                yield b"%d" % i

        got = []
        for answer in channel.stream_stream("/test.Echo/Both")(requests(), timeout=harness.WAIT):
            got.append(answer)
            answered.release()
        self.assertEqual(got, [b"<%d>" % i for i in range(20)])

    def test_both_versions_with_trailers(self):
        self.start()
        for version in ("2", "3"):
            fields, body, trailers = self.post("Down", frame(b"2"), version)
            self.assertEqual(frames(body), [(0, b"message 0"), (0, b"message 1")])
            self.assertEqual(self.status_of(fields, trailers), "0")

    def test_the_backends_status_is_untouched(self):
        self.start()
        channel = self.channel()
        got = []

        def call():
            for message in channel.unary_stream("/test.Echo/Fails")(b"", timeout=harness.WAIT):
                got.append(message)

        error = self.wait_failed(call)
        self.assertEqual(got, [b"one", b"two"])
        self.assertEqual((error.code(), error.details()),
                         (grpc.StatusCode.ABORTED, "no more, 100% \u00e4"))
        error = self.wait_failed(
            lambda: channel.unary_unary("/test.Echo/FailsAtOnce")(b"", timeout=harness.WAIT))
        self.assertEqual((error.code(), error.details()), (grpc.StatusCode.ABORTED, "not at all"))
        for version in ("2", "3"):
            fields, body, trailers = self.post("Fails", frame(b""), version)
            self.assertEqual(frames(body), [(0, b"one"), (0, b"two")])
            self.assertEqual(self.status_of(fields, trailers), "10")
            fields, body, trailers = self.post("FailsAtOnce", frame(b""), version)
            self.assertEqual((body, self.status_of(fields, trailers)), (b"", "10"))

    def test_a_cut_stream_is_unavailable(self):
        # K58: one that dies in the middle of a message, and one that is reset with NO_ERROR.
        def respond(request):
            request.begin(fields=[("content-type", "application/grpc")])
            request.send(frame(b"whole") + frame(b"x" * 100)[:50])
            if request.path.endswith("Cut"):
                request.reset(0)
            else:
                request.peer.closing = True
                request.peer.flush()

        origin = h2_backend.H2Backend(respond)
        self.addCleanup(origin.stop)
        self.start(origin.address)
        channel = self.channel()
        for method in ("Dies", "Cut"):
            got = []

            def call(method=method, got=got):
                for message in channel.unary_stream(f"/test.Echo/{method}")(b"",
                                                                            timeout=harness.WAIT):
                    got.append(message)

            error = self.wait_failed(call)
            self.assertEqual(got, [b"whole"])
            self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
            for version in ("2", "3"):
                fields, body, trailers = self.post(method, frame(b""), version)
                self.assertEqual(self.status_of(fields, trailers), "14")
                self.assertTrue(body.startswith(frame(b"whole")))

    def test_errors_of_the_proxy_have_a_status(self):
        self.start(f"127.0.0.1:{harness.free_port()}")
        channel = self.channel()
        error = self.wait_failed(
            lambda: channel.unary_unary("/test.Echo/Unary")(b"", timeout=harness.WAIT))
        self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn("refused", error.details())
        error = self.wait_failed(
            lambda: channel.unary_unary("/other.Service/Unary")(b"", timeout=harness.WAIT))
        self.assertEqual(error.code(), grpc.StatusCode.UNIMPLEMENTED)
        for version in ("2", "3"):
            fields, body, _ = self.post("Unary", frame(b""), version)
            self.assertEqual((fields["grpc-status"], body), ("14", b""))
            self.assertEqual(fields["content-type"], "application/grpc")
            # Whoever is no gRPC client gets what they understand.
            self.assertEqual(self.proxy.get("/test.Echo/Unary", "-d", "x", http=version)[0], 502)

    def test_deadlines(self):
        self.start()
        channel = self.channel()
        error = self.wait_failed(
            lambda: channel.unary_unary("/test.Echo/Waits")(b"", timeout=0.5))
        self.assertEqual(error.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLessEqual(self.service.remaining, 0.5)
        self.assertTrue(self.service.cancelled.wait(harness.WAIT))
        # The proxy keeps it, whatever the client does.
        for version in ("2", "3"):
            self.service.cancelled.clear()
            fields, body, _ = self.post("Waits", frame(b""), version, "application/grpc", "-H",
                                        "grpc-timeout: 200m")
            self.assertEqual((fields["grpc-status"], body), ("4", b""))
            self.assertTrue(self.service.cancelled.wait(harness.WAIT))

    def test_as_the_recipe_says(self):
        address = f"127.0.0.1:{self.service.port}"
        (toml,) = recipe("grpc", {"10.0.0.7:50051": address,
                                  "10.0.0.8:50051": f"127.0.0.1:{harness.free_port()}",
                                  "/helloworld.Greeter": "/test.Echo"})
        self.proxy = self.edge(toml)
        unary = self.channel().unary_unary("/test.Echo/Unary")
        for _ in range(4):
            self.assertEqual(unary(b"hello", timeout=harness.WAIT), b"HELLO")

    def test_cancelled_calls(self):
        self.start()
        call = self.channel().unary_unary("/test.Echo/Waits").future(b"")
        self.assertTrue(self.service.begun.wait(harness.WAIT))
        call.cancel()
        self.assertTrue(self.service.cancelled.wait(harness.WAIT))


class Web(Grpc):
    """gRPC-Web from every version to a server of gRPC."""

    TYPES = ("application/grpc-web+proto", "application/grpc-web-text+proto")

    def call(self, method, message, http, content_type):
        """(fields, messages, trailers) of a call."""
        body = frame(message)
        as_text = "text" in content_type
        if as_text:  # in two pieces, each with padding of its own
            body = base64.b64encode(body[:4]) + base64.b64encode(body[4:])
        fields, body, trailers = self.post(method, body, http, content_type)
        self.assertEqual(trailers, {})
        # grpcio leaves "+proto" out.
        self.assertEqual(fields["content-type"].removesuffix("+proto"),
                         content_type.removesuffix("+proto"))
        if as_text:
            text, body = body, b""
            while text:  # a group that is padded ends a piece
                end = text.find(b"=") // 4 * 4 + 4 if b"=" in text else len(text)
                body += base64.b64decode(text[:end], validate=True)
                text = text[end:]
        all_frames = frames(body)
        messages = [m for flags, m in all_frames if not flags & 0x80]
        sections = [m for flags, m in all_frames if flags & 0x80]
        self.assertLessEqual(len(sections), 1)
        section = {}
        if sections:
            self.assertEqual(all_frames[-1][1], sections[0])
            self.assertTrue(sections[0])
            for line in sections[0].decode().removesuffix("\r\n").split("\r\n"):
                name, _, value = line.partition(": ")
                section[name] = value
        return fields, messages, section

    def test_calls(self):
        self.start()
        for version in harness.ALL_VERSIONS:
            for kind in self.TYPES:
                with self.subTest(version=version, kind=kind):
                    fields, messages, end = self.call("Unary", b"hello", version, kind)
                    self.assertEqual((messages, end["grpc-status"], end["x-last"]),
                                     ([b"HELLO"], "0", "2"))
                    self.assertEqual(fields["x-first"], "1")
                    _, messages, end = self.call("Down", b"40", version, kind)
                    self.assertEqual(messages, [b"message %d" % i for i in range(40)])
                    self.assertEqual(end["grpc-status"], "0")
                    large = b"y" * 300_000
                    _, messages, end = self.call("Unary", large, version, kind)
                    self.assertEqual((messages, end["grpc-status"]), ([large.upper()], "0"))

    def test_failures_before_and_after_messages(self):
        self.start()
        for version in harness.ALL_VERSIONS:
            for kind in self.TYPES:
                with self.subTest(version=version, kind=kind):
                    # K58: the status is in the head, and nothing hides it.
                    fields, messages, end = self.call("FailsAtOnce", b"", version, kind)
                    self.assertEqual((fields["grpc-status"], messages, end), ("10", [], {}))
                    fields, messages, end = self.call("Fails", b"", version, kind)
                    self.assertEqual((messages, end["grpc-status"]), ([b"one", b"two"], "10"))
                    self.assertNotIn("grpc-status", fields)

    def test_status_in_the_head_and_an_empty_body(self):
        # K58: the end comes by itself, without trailers; an empty frame would hide the status.
        def respond(request):
            request.begin(fields=[("content-type", "application/grpc"), ("grpc-status", "10")])
            request.peer.h2.end_stream(request.id)

        origin = h2_backend.H2Backend(respond)
        self.addCleanup(origin.stop)
        self.start(origin.address)
        for version in harness.ALL_VERSIONS:
            for kind in self.TYPES:
                fields, messages, end = self.call("Fails", b"", version, kind)
                self.assertEqual((fields["grpc-status"], messages, end), ("10", [], {}))
                if version != "1.1":
                    fields, body, trailers = self.post("Fails", frame(b""), version)
                    self.assertEqual((fields["grpc-status"], body, trailers), ("10", b"", {}))

    def test_errors_of_the_proxy(self):
        self.start(f"127.0.0.1:{harness.free_port()}")
        for version in harness.ALL_VERSIONS:
            for kind in self.TYPES:
                fields, messages, end = self.call("Unary", b"", version, kind)
                self.assertEqual((fields["grpc-status"], messages, end), ("14", [], {}))

    def test_a_body_that_is_no_base64(self):
        self.start()
        for version in harness.ALL_VERSIONS:
            for body in (b"****", b"AAAAAA"):
                fields, _, _ = self.post("Unary", body, version, "application/grpc-web-text")
                self.assertEqual(fields["grpc-status"], "13")

    def test_a_cut_stream_is_unavailable(self):
        def respond(request):
            request.begin(fields=[("content-type", "application/grpc+proto")])
            request.send(frame(b"whole"))
            request.reset(0)

        origin = h2_backend.H2Backend(respond)
        self.addCleanup(origin.stop)
        self.start(origin.address)
        for version in harness.ALL_VERSIONS:
            for kind in self.TYPES:
                _, messages, end = self.call("Dies", b"", version, kind)
                self.assertEqual((messages, end["grpc-status"]), ([b"whole"], "14"))

    def test_servers_of_grpc_web_get_it_as_it_is(self):
        origin = self.echo()
        self.proxy = self.edge(harness.pool(origin.address) + harness.route())
        for version in harness.ALL_VERSIONS:
            self.post("Unary", b"AAAA", version, "application/grpc-web-text")
            head, body = origin.requests[-1]
            self.assertIn(b"application/grpc-web-text", head)
            self.assertEqual(body, b"AAAA")


if __name__ == "__main__":
    harness.main()
