"""0-RTT packets (RFC 9000 12.5, RFC 9001 8.3): what has no place in them."""

import quic_client  # gives aioquic room for a hello with a large ticket
from http3 import frames as f
from http3 import table as t
from http3.client import EARLY, Client

assert quic_client
TABLE = t.Table()

NOT_EARLY = {
    "ACK": f.frame(f.ACK, 0, 0, 0, 0),
    "CRYPTO": f.crypto(b"\x05\0\0\0"),
    "NEW_TOKEN": f.EACH["NEW_TOKEN"],
    "PATH_RESPONSE": f.EACH["PATH_RESPONSE"],
    "RETIRE_CONNECTION_ID": f.EACH["RETIRE_CONNECTION_ID"],
    "HANDSHAKE_DONE": f.EACH["HANDSHAKE_DONE"],
}


def ticket_of(edge):
    with Client(edge.port) as c:
        c.connect()
        c.run(lambda: c.tickets, "a session ticket")
        return c.tickets[0]


def early(payload, *codes):
    def run(c):
        with Client(c.edge.port, ticket=ticket_of(c.edge)) as again:
            again.flush()
            again.inject(payload, EARLY)
            t.closes(again, *codes)
    return run


for name, payload in NOT_EARLY.items():
    section = "RFC 9001 8.3" if name == "CRYPTO" else "RFC 9000 12.5"
    TABLE.add(section, f"{name} in a 0-RTT packet",
              early(payload, t.PROTOCOL_VIOLATION, t.FRAME_ENCODING_ERROR), stage="new")


@TABLE.case("RFC 9001 4.6", "a request in 0-RTT packets is answered", stage="new")
def early_request(c):
    with Client(c.edge.port, ticket=ticket_of(c.edge)) as again:
        number = again.request("/early")
        again.run(lambda: again.answer(number), "the answer")
        assert again.answer(number)[0] == 200
        assert again.completed.early_data_accepted
