"""A table of cases: each has the section that it holds, a name, and a function over a connection."""

import collections
import os

import harness
from http3 import frames as f
from http3.client import APPLICATION, Client


class Case:
    def __init__(self, section, name, run, options):
        self.section, self.name, self.run, self.options = section, name, run, options

    def __str__(self):
        return f"{self.section}: {self.name}"


class Table:
    def __init__(self):
        self.cases = []

    def add(self, section, name, run, **options):
        self.cases.append(Case(section, name, run, options))

    def case(self, section, name, **options):
        """A decorator. Options are those of Client, and `stage`: "new" (nothing was sent yet),
        "sent" (the hello was), "half" (the server's flight is here), "confirmed" (the default)."""
        def take(run):
            self.add(section, name, run, **options)
            return run
        return take


def show(passed, sections):
    """How many cases of each section there are, and passed."""
    for section, count in sorted(collections.Counter(sections).items(), key=lambda s: _in_order(s[0])):
        print(f"{section:<22} {passed[section]:>3} of {count}", flush=True)


def _in_order(section):
    rfc, number = section.removeprefix("RFC ").split(" ")
    return int(rfc), [int(part) for part in number.split(".")]


class TableTest(harness.TestCase):
    """Runs tables against one edge."""

    def run_table(self, table, edge):
        """PQEDGE_CASES="RFC 9114 4.1" runs those alone whose names have that text."""
        wanted = os.environ.get("PQEDGE_CASES", "")
        passed = collections.Counter()
        for case in table.cases:
            if wanted not in str(case):
                continue
            with self.subTest(str(case)):
                options = dict(case.options)
                stage = options.pop("stage", "confirmed")
                with Client(edge.port, **options) as c:
                    c.test, c.edge = self, edge
                    if stage == "sent":
                        c.flush()
                    elif stage == "half":
                        c.half()
                    elif stage == "confirmed":
                        c.connect()
                    case.run(c)
                self.assertTrue(edge.alive(), edge.log()[-4000:])
                passed[case.section] += 1
        show(passed, (case.section for case in table.cases if wanted in str(case)))


# ---- what is expected ---------------------------------------------------------------------------


def closes(c, *codes, application=None):
    """The server ends the connection with one of these codes: HTTP/3's and QPACK's are 0x100 and up."""
    c.run(lambda: c.quic.closed is not None or c.ended, "CONNECTION_CLOSE")
    assert c.quic.closed is not None, f"no CONNECTION_CLOSE came; {c.state()}"
    of_application, code, reason = c.quic.closed
    wanted = " or ".join(f"{w:#x}" for w in codes)
    assert code in codes, f"closed with {code:#x} ({reason!r}), not {wanted}"
    if application is None:
        application = codes[0] >= 0x100
    assert of_application == application, f"closed with {code:#x} in the other frame type"


def alerts(c, alert):
    """The connection ends with that TLS alert (RFC 9001 4.8)."""
    closes(c, 0x100 + alert, application=False)


def lives(c):
    """The connection goes on: a plain request on it is answered."""
    status, _, _ = c.get("/alive")
    assert status == 200, status


def drops(c, limit=0.15):
    """Nothing is answered."""
    assert not c.receive(limit), f"answered with {c.arrived}"


def refused(c, number, *codes, answer_is_enough=False):
    """The server gives that request up: RESET_STREAM with one of the codes, maybe behind an answer of
    4xx, which may be enough. The connection lives on."""
    stream = c.stream(number)

    def resets():
        return [code for n, code, _ in c.quic.frames(f.RESET_STREAM) if n == number]

    c.run(lambda: resets() or (stream.ended and answer_is_enough), "the request's end")
    for code in resets():
        assert code in codes, f"reset with {code:#x}"
    if stream.ended:
        status, _, _ = c.answer(number)
        assert 400 <= status < 500, status
    lives(c)


def acknowledged(c, number, epoch=APPLICATION):
    """The server has acknowledged our packet of that number."""
    return any(low <= number <= high for fields in c.quic.frames(f.ACK, f.ACK + 1, epoch=epoch)
               for low, high in fields[0])


# ---- error codes --------------------------------------------------------------------------------

(NO_ERROR, INTERNAL_ERROR, CONNECTION_REFUSED, FLOW_CONTROL_ERROR, STREAM_LIMIT_ERROR,
 STREAM_STATE_ERROR, FINAL_SIZE_ERROR, FRAME_ENCODING_ERROR, TRANSPORT_PARAMETER_ERROR,
 CONNECTION_ID_LIMIT_ERROR, PROTOCOL_VIOLATION, INVALID_TOKEN, APPLICATION_ERROR,
 CRYPTO_BUFFER_EXCEEDED, KEY_UPDATE_ERROR) = range(15)

(H3_NO_ERROR, H3_GENERAL_PROTOCOL_ERROR, H3_INTERNAL_ERROR, H3_STREAM_CREATION_ERROR,
 H3_CLOSED_CRITICAL_STREAM, H3_FRAME_UNEXPECTED, H3_FRAME_ERROR, H3_EXCESSIVE_LOAD, H3_ID_ERROR,
 H3_SETTINGS_ERROR, H3_MISSING_SETTINGS, H3_REQUEST_REJECTED, H3_REQUEST_CANCELLED,
 H3_REQUEST_INCOMPLETE, H3_MESSAGE_ERROR, H3_CONNECT_ERROR, H3_VERSION_FALLBACK) = range(0x100, 0x111)
QPACK_DECOMPRESSION_FAILED, QPACK_ENCODER_STREAM_ERROR, QPACK_DECODER_STREAM_ERROR = 0x200, 0x201, 0x202


UNEXPECTED_MESSAGE, PROTOCOL_VERSION, MISSING_EXTENSION, NO_APPLICATION_PROTOCOL = 10, 70, 109, 120
