"""What a client may not do in QUIC: frames, packets, limits, transport parameters, the handshake."""

import os

from aioquic.quic.crypto import CryptoPair

from http3 import frames as f
from http3 import table as t
from http3.client import APPLICATION, HANDSHAKE, INITIAL, packet

TABLE = t.Table()
case, add = TABLE.case, TABLE.add


def sends(payload, *codes, epoch=APPLICATION, **how):
    """A packet with that payload ends the connection with one of the codes."""
    def run(c):
        c.inject(payload() if callable(payload) else payload, epoch, **how)
        t.closes(c, *codes)
    return run


def spurious(payload, **how):
    """An Initial packet like that ends the connection or is as good as lost: anyone can make one."""
    def run(c):
        c.inject(payload, INITIAL, **how)
        c.run(lambda: c.quic.closed is not None or c.quic._handshake_confirmed, "an end")
        if c.quic.closed is None:
            t.lives(c)
        else:
            assert c.quic.closed[1] in (t.PROTOCOL_VIOLATION, t.FRAME_ENCODING_ERROR), c.state()
    return run


# ---- frames in packets where they have no place (RFC 9000 12.4, table 3) ------------------------

for name, bytes_ in f.EACH.items():
    add("RFC 9000 17.2.2", f"{name} in an Initial packet", spurious(bytes_), stage="sent")
    add("RFC 9000 17.2.4", f"{name} in a Handshake packet",
        sends(bytes_, t.PROTOCOL_VIOLATION, t.FRAME_ENCODING_ERROR, epoch=HANDSHAKE), stage="half")

add("RFC 9000 12.4", "a frame of an unknown type",
    sends(f.frame(0x3F), t.FRAME_ENCODING_ERROR, t.PROTOCOL_VIOLATION))
add("RFC 9000 12.4", "a frame of an unknown type of two bytes",
    sends(f.frame(0x1234), t.FRAME_ENCODING_ERROR, t.PROTOCOL_VIOLATION))
add("RFC 9000 12.4", "a packet without frames", sends(b"", t.PROTOCOL_VIOLATION))
add("RFC 9000 12.4", "a Handshake packet without frames",
    sends(b"", t.PROTOCOL_VIOLATION, epoch=HANDSHAKE), stage="half")
add("RFC 9000 12.4", "a frame that is cut short",
    sends(f.frame(f.MAX_STREAM_DATA, 0), t.FRAME_ENCODING_ERROR))
add("RFC 9000 12.4", "a STREAM frame longer than its packet",
    sends(f.frame(f.STREAM | 2, 0, 50, b"short"), t.FRAME_ENCODING_ERROR))
add("RFC 9000 17.2", "reserved bits in a Handshake packet",
    sends(f.frame(f.PING), t.PROTOCOL_VIOLATION, epoch=HANDSHAKE, flip=0x0C), stage="half")
add("RFC 9000 17.2", "reserved bits in an Initial packet",
    spurious(f.frame(f.PING), flip=0x0C), stage="sent")
add("RFC 9000 17.3.1", "reserved bits in a 1-RTT packet",
    sends(f.frame(f.PING), t.PROTOCOL_VIOLATION, flip=0x18))

# ---- frames that a client may not send, or not so -----------------------------------------------

add("RFC 9000 19.3", "ACK of a packet that was never sent",
    sends(f.frame(f.ACK, 1 << 20, 0, 0, 0), t.PROTOCOL_VIOLATION))
add("RFC 9000 13.1", "ACK of a Handshake packet that was never sent",
    sends(f.frame(f.ACK, 5000, 0, 0, 0), t.PROTOCOL_VIOLATION, epoch=HANDSHAKE), stage="half")
add("RFC 9000 19.3.1", "ACK whose first range goes below zero",
    sends(f.frame(f.ACK, 0, 0, 0, 5), t.FRAME_ENCODING_ERROR))
add("RFC 9000 19.3.1", "ACK whose second range goes below zero",
    sends(f.frame(f.ACK, 0, 0, 1, 0, 3, 0), t.FRAME_ENCODING_ERROR))
add("RFC 9000 19.4", "RESET_STREAM of a stream that only we send on",
    sends(f.frame(f.RESET_STREAM, 3, 0, 0), t.STREAM_STATE_ERROR, t.PROTOCOL_VIOLATION))
add("RFC 9000 19.4", "RESET_STREAM of a stream of ours that was not opened",
    sends(f.frame(f.RESET_STREAM, 1, 0, 0), t.STREAM_STATE_ERROR))
add("RFC 9000 19.5", "STOP_SENDING of a stream that only the client sends on",
    sends(f.frame(f.STOP_SENDING, 2, 0), t.STREAM_STATE_ERROR))
add("RFC 9000 19.5", "STOP_SENDING of a stream of ours that was not opened",
    sends(f.frame(f.STOP_SENDING, 1, 0), t.STREAM_STATE_ERROR))
add("RFC 9000 19.6", "CRYPTO beyond the largest offset",
    sends(f.frame(f.CRYPTO, f.LARGEST, 4, b"1234"), t.FRAME_ENCODING_ERROR,
          t.CRYPTO_BUFFER_EXCEEDED))
add("RFC 9000 7.5", "more CRYPTO out of order than anyone keeps",
    sends(f.crypto(b"x" * 100, 1 << 24), t.CRYPTO_BUFFER_EXCEEDED))
add("RFC 9000 19.7", "NEW_TOKEN of a client",
    sends(f.frame(f.NEW_TOKEN, 4, b"abcd"), t.PROTOCOL_VIOLATION))
add("RFC 9000 19.8", "STREAM of a bidirectional stream of ours that was not opened",
    sends(f.stream(1, b"x"), t.STREAM_STATE_ERROR))
add("RFC 9000 19.8", "STREAM of a unidirectional stream of ours",
    sends(f.stream(3, b"x"), t.STREAM_STATE_ERROR))
add("RFC 9000 19.8", "STREAM beyond the largest offset",
    sends(f.stream(0, b"xxxx", offset=f.LARGEST), t.FRAME_ENCODING_ERROR, t.FLOW_CONTROL_ERROR))
add("RFC 9000 19.10", "MAX_STREAM_DATA of a stream of ours that was not opened",
    sends(f.frame(f.MAX_STREAM_DATA, 1, 100), t.STREAM_STATE_ERROR))
add("RFC 9000 19.10", "MAX_STREAM_DATA of a stream that only the client sends on",
    sends(f.frame(f.MAX_STREAM_DATA, 2, 100), t.STREAM_STATE_ERROR))
for kind, what in ((f.MAX_STREAMS, "bidirectional"), (f.MAX_STREAMS_UNI, "unidirectional")):
    add("RFC 9000 19.11", f"MAX_STREAMS beyond 2^60, {what}",
        sends(f.frame(kind, (1 << 60) + 1), t.FRAME_ENCODING_ERROR))
for kind, what in ((f.STREAMS_BLOCKED, "bidirectional"), (f.STREAMS_BLOCKED_UNI, "unidirectional")):
    add("RFC 9000 19.14", f"STREAMS_BLOCKED beyond 2^60, {what}",
        sends(f.frame(kind, (1 << 60) + 1), t.FRAME_ENCODING_ERROR, t.STREAM_LIMIT_ERROR))
add("RFC 9000 19.13", "STREAM_DATA_BLOCKED of a stream that only we send on",
    sends(f.frame(f.STREAM_DATA_BLOCKED, 3, 1), t.STREAM_STATE_ERROR))
add("RFC 9000 19.13", "STREAM_DATA_BLOCKED of a stream of ours that was not opened",
    sends(f.frame(f.STREAM_DATA_BLOCKED, 1, 1), t.STREAM_STATE_ERROR))
add("RFC 9000 19.20", "HANDSHAKE_DONE of a client",
    sends(f.frame(f.HANDSHAKE_DONE), t.PROTOCOL_VIOLATION))
add("RFC 9221 3", "DATAGRAM that was not offered",
    sends(f.frame(f.DATAGRAM, b"x"), t.PROTOCOL_VIOLATION, t.FRAME_ENCODING_ERROR))

# ---- connection IDs -----------------------------------------------------------------------------

add("RFC 9000 19.15", "NEW_CONNECTION_ID that retires beyond itself",
    sends(f.new_connection_id(9, os.urandom(8), retire_prior_to=10), t.FRAME_ENCODING_ERROR))
add("RFC 9000 19.15", "NEW_CONNECTION_ID of no length",
    sends(f.new_connection_id(9, b""), t.FRAME_ENCODING_ERROR))
add("RFC 9000 19.15", "NEW_CONNECTION_ID longer than 20 bytes",
    sends(f.new_connection_id(9, b"i" * 21), t.FRAME_ENCODING_ERROR))
add("RFC 9000 19.15", "two sequence numbers for one ID",
    sends(f.new_connection_id(20, b"same-one", 19) + f.new_connection_id(21, b"same-one", 19),
          t.PROTOCOL_VIOLATION))
add("RFC 9000 19.15", "two IDs of one sequence number",
    sends(f.new_connection_id(20, b"the-one-", 19) + f.new_connection_id(20, b"another-", 19),
          t.PROTOCOL_VIOLATION))
add("RFC 9000 19.15", "NEW_CONNECTION_ID of a client whose ID is empty",
    sends(f.new_connection_id(1, b"not-none"), t.PROTOCOL_VIOLATION), id_length=0)
add("RFC 9000 19.16", "RETIRE_CONNECTION_ID of one that was not issued",
    sends(f.frame(f.RETIRE_CONNECTION_ID, 1000), t.PROTOCOL_VIOLATION))
add("RFC 9000 19.16", "RETIRE_CONNECTION_ID of the one that the packet is for",
    sends(f.frame(f.RETIRE_CONNECTION_ID, 0), t.PROTOCOL_VIOLATION))


@case("RFC 9000 5.1.1", "more IDs than active_connection_id_limit")
def too_many_ids(c):
    limit = dict(c.quic.parameters).get(f.ID_LIMIT, b"\x02")
    count = f.Reader(limit).varint()
    c.inject(b"".join(f.new_connection_id(20 + n, os.urandom(8), token=os.urandom(16))
                      for n in range(count + 8)))
    t.closes(c, t.CONNECTION_ID_LIMIT_ERROR)


# ---- limits -------------------------------------------------------------------------------------


def beyond(parameter, number):
    def run(c):
        limit = f.Reader(dict(c.quic.parameters)[parameter]).varint()
        c.inject(f.stream(4 * limit + number, b"x"))
        t.closes(c, t.STREAM_LIMIT_ERROR)
    return run


add("RFC 9000 4.6", "a bidirectional stream beyond the limit", beyond(f.STREAMS_BIDI, 0))
add("RFC 9000 4.6", "a unidirectional stream beyond the limit", beyond(f.STREAMS_UNI, 2))
add("RFC 9000 4.6", "RESET_STREAM of a stream beyond the limit",
    sends(f.frame(f.RESET_STREAM, 4 << 20, 0, 0), t.STREAM_LIMIT_ERROR))
add("RFC 9000 4.1", "data beyond the stream's window",
    sends(f.stream(0, b"x", offset=1 << 23), t.FLOW_CONTROL_ERROR))
add("RFC 9000 4.1", "data beyond the window of a unidirectional stream",
    sends(f.stream(6, b"x", offset=1 << 23), t.FLOW_CONTROL_ERROR))
add("RFC 9000 4.1", "RESET_STREAM with a final size beyond the window",
    sends(f.frame(f.RESET_STREAM, 0, 0x10C, 1 << 40), t.FLOW_CONTROL_ERROR))


@case("RFC 9000 4.1", "data beyond the connection's window")
def beyond_the_connection(c):
    given = dict(c.quic.parameters)
    room = f.Reader(given[f.INITIAL_MAX_DATA]).varint()
    stream = f.Reader(given[6]).varint()  # initial_max_stream_data_bidi_remote
    # A last byte at the end of each stream's window uses all of it up.
    for n in range(room // stream + 2):
        c.inject(f.stream(4 * n, b"x", offset=stream - 1))
    t.closes(c, t.FLOW_CONTROL_ERROR)


# Nothing of these is delivered: a gap is before it.
add("RFC 9000 4.5", "data behind the end of a stream",
    sends(f.stream(0, b"x", offset=9, end=True) + f.stream(0, b"x", offset=20), t.FINAL_SIZE_ERROR))
add("RFC 9000 4.5", "an end before data that came",
    sends(f.stream(0, b"xx", offset=8) + f.stream(0, b"", offset=5, end=True), t.FINAL_SIZE_ERROR))
add("RFC 9000 4.5", "a second end at another place",
    sends(f.stream(0, b"x", offset=9, end=True) + f.stream(0, b"x", offset=7, end=True),
          t.FINAL_SIZE_ERROR))
add("RFC 9000 4.5", "RESET_STREAM with another final size",
    sends(f.stream(0, b"x", offset=9, end=True) + f.frame(f.RESET_STREAM, 0, 0x10C, 7),
          t.FINAL_SIZE_ERROR))

# ---- transport parameters -----------------------------------------------------------------------


def parameter(name, value):
    """Ours, with one set to other bytes; None leaves it out."""
    def edit(pairs):
        pairs = [p for p in pairs if p[0] != name]
        return pairs if value is None else [*pairs, (name, value)]
    return edit


def bad_parameters(section, name, edit, *codes):
    add(section, name, lambda c: t.closes(c, *(codes or (t.TRANSPORT_PARAMETER_ERROR,))),
        stage="new", parameters=edit)


for name, number, value in (
        ("original_destination_connection_id", f.ORIGINAL_ID, b"12345678"),
        ("stateless_reset_token", f.RESET_TOKEN, b"t" * 16),
        ("preferred_address", f.PREFERRED_ADDRESS, bytes(24) + b"\x04abcd" + b"t" * 16),
        ("retry_source_connection_id", f.RETRY_SOURCE_ID, b"12345678")):
    bad_parameters("RFC 9000 18.2", f"{name} of a client", parameter(number, value))
bad_parameters("RFC 9000 7.3", "initial_source_connection_id is missing",
               parameter(f.INITIAL_SOURCE_ID, None))
bad_parameters("RFC 9000 7.3", "initial_source_connection_id of another",
               parameter(f.INITIAL_SOURCE_ID, b"another!"))
for name, number, value in (
        ("max_udp_payload_size below 1200", f.UDP_SIZE, f.varint(1199)),
        ("ack_delay_exponent above 20", f.ACK_EXPONENT, f.varint(21)),
        ("max_ack_delay of 2^14", f.ACK_DELAY, f.varint(1 << 14)),
        ("active_connection_id_limit below 2", f.ID_LIMIT, f.varint(1)),
        ("initial_max_streams_bidi beyond 2^60", f.STREAMS_BIDI, f.varint((1 << 60) + 1)),
        ("initial_max_streams_uni beyond 2^60", f.STREAMS_UNI, f.varint((1 << 60) + 1)),
        ("disable_active_migration with a value", f.NO_MIGRATION, b"\x01"),
        ("an integer with bytes behind it", f.IDLE_TIMEOUT, b"\x01\x01"),
        ("an integer that is cut short", f.IDLE_TIMEOUT, b"\x40")):
    bad_parameters("RFC 9000 7.4", name, parameter(number, value))


def doubled(pairs):
    return [*pairs, next(p for p in pairs if p[0] == f.IDLE_TIMEOUT)]


@case("RFC 9000 7.4", "a parameter given twice", stage="new", parameters=doubled)
def parameter_twice(c):
    # Refused, or the later counts: the RFC leaves that to the server.
    c.run(lambda: c.closed or c.completed, "the handshake's end")
    assert c.quic.closed is None or c.quic.closed[1] == t.TRANSPORT_PARAMETER_ERROR, c.state()


@case("RFC 9000 18.1", "reserved and unknown parameters are ignored",
      parameters=lambda pairs: [(31 * 5 + 27, b"any"), *pairs, (0x3AB2, b""), (0x3FFF, bytes(50))])
def unknown_parameters(c):
    t.lives(c)


@case("RFC 9000 7.3", "the server's parameters name the IDs of the handshake")
def own_ids(c):
    given = dict(c.quic.parameters)
    assert given[f.ORIGINAL_ID] == c.quic._original_destination_connection_id
    assert given[f.INITIAL_SOURCE_ID] == c.quic._remote_initial_source_connection_id
    assert f.RETRY_SOURCE_ID not in given


@case("RFC 9000 18.2", "the server's own parameters are within their bounds")
def own_parameters(c):
    names = [name for name, _ in c.quic.parameters]
    assert len(names) == len(set(names)), names
    given = {name: f.Reader(value).varint() for name, value in c.quic.parameters
             if name in (3, 4, 8, 9, 10, 11, 14)}
    assert given.get(f.UDP_SIZE, 65527) >= 1200
    assert given.get(f.ACK_EXPONENT, 3) <= 20 and given.get(f.ACK_DELAY, 25) < 1 << 14
    assert given.get(f.ID_LIMIT, 2) >= 2
    assert given[f.STREAMS_BIDI] >= 100, "RFC 9114 6.1 wants room for 100 requests"
    assert given[f.STREAMS_UNI] >= 3, "RFC 9114 6.2 wants room for three streams"
    assert len(dict(c.quic.parameters)[f.RESET_TOKEN]) == 16


# ---- TLS within QUIC (RFC 9001) -----------------------------------------------------------------


def no_parameters(context):
    context.handshake_extensions = []


def no_alpn(context):
    context._alpn_protocols = None


def old_tls(context):
    context._supported_versions = [0x0303]


def session_id(context):
    context.legacy_session_id = bytes(32)


add("RFC 9001 8.2", "a hello without transport parameters",
    lambda c: t.alerts(c, t.MISSING_EXTENSION), stage="new", hello=no_parameters)
add("RFC 9001 8.1", "a hello without ALPN", lambda c: t.alerts(c, t.NO_APPLICATION_PROTOCOL),
    stage="new", hello=no_alpn)
add("RFC 9001 8.1", "no protocol in common", lambda c: t.alerts(c, t.NO_APPLICATION_PROTOCOL),
    stage="new", alpn=("nothing/9",))
add("RFC 9001 4.2", "TLS below 1.3", lambda c: t.alerts(c, t.PROTOCOL_VERSION), stage="new",
    hello=old_tls)


@case("RFC 9001 8.4", "a hello with a session ID of TLS 1.2", stage="new", hello=session_id)
def legacy_session_id(c):
    # A server may refuse it, or go on.
    c.run(lambda: c.closed or c.completed, "the handshake's end")


KEY_UPDATE, END_OF_EARLY_DATA = b"\x18\0\0\x01\0", b"\x05\0\0\0"


def tls_message(message, epoch):
    def run(c):
        c.inject(f.crypto(message), epoch)
        t.alerts(c, t.UNEXPECTED_MESSAGE)
    return run


add("RFC 9001 6", "a KeyUpdate message in Handshake packets", tls_message(KEY_UPDATE, HANDSHAKE),
    stage="half")
add("RFC 9001 6", "a KeyUpdate message in 1-RTT packets", tls_message(KEY_UPDATE, APPLICATION))
add("RFC 9001 8.3", "an EndOfEarlyData message", tls_message(END_OF_EARLY_DATA, HANDSHAKE),
    stage="half")
add("RFC 9001 4.1.3", "a hello in Handshake packets",
    lambda c: (c.inject(f.crypto(b"\x01\0\0\x04abcd"), HANDSHAKE),
               c.run(lambda: c.quic.closed is not None, "CONNECTION_CLOSE")), stage="half")


@case("RFC 9001 6.1", "the client updates its keys, again and again")
def key_updates(c):
    for _ in range(3):
        phase = c.quic._cryptos[APPLICATION].recv.key_phase
        c.quic.request_key_update()
        t.lives(c)
        # What came with the answer was under the new keys, or aioquic could not have read it.
        assert c.quic._cryptos[APPLICATION].recv.key_phase != phase


@case("RFC 9001 5.5", "packets that cannot be authenticated are dropped")
def bad_packets(c):
    good = packet(c.quic, APPLICATION, f.frame(f.PING))
    for at in (0, 3, len(good) - 1):
        bad = bytearray(good)
        bad[at] ^= 0x01
        c.send(bytes(bad))
    c.send(good[:-1])
    t.lives(c)


@case("RFC 9001 4.9.1", "Initial packets behind the handshake are not looked at")
def late_initial(c):
    pair = CryptoPair()
    pair.setup_initial(cid=c.quic._original_destination_connection_id, is_client=True, version=1)
    c.quic._cryptos[INITIAL] = pair
    c.inject(f.frame(f.CLOSE, t.PROTOCOL_VIOLATION, 0, 0), INITIAL)
    t.lives(c)
    assert not c.quic.frames(f.CLOSE)


@case("RFC 9001 4.1.2", "the server says that the handshake is done, once confirmed")
def handshake_done(c):
    assert c.quic.frames(f.HANDSHAKE_DONE, epoch=APPLICATION)


# ---- what is fine, and must not end a connection ------------------------------------------------

for name, payload in (
        ("PING and PADDING", f.frame(f.PING) + bytes(30)),
        ("STREAMS_BLOCKED at the limit", f.frame(f.STREAMS_BLOCKED, 128)),
        ("DATA_BLOCKED", f.frame(f.DATA_BLOCKED, 1 << 20)),
        ("MAX_DATA that does not grow", f.frame(f.MAX_DATA, 1)),
        ("MAX_STREAMS that does not grow", f.frame(f.MAX_STREAMS, 1)),
        ("PATH_RESPONSE that nobody asked for", f.frame(f.PATH_RESPONSE, b"unasked!")),
        ("an empty STREAM frame", f.stream(0, b"", 0))):
    add("RFC 9000 19", f"{name} does no harm", lambda c, p=payload: (c.inject(p), t.lives(c)))


@case("RFC 9000 12.4", "a frame type of more bytes than it needs")
def long_type(c):
    # May be refused, and may be taken.
    c.inject(f.varint(f.PING, 2))
    number = c.quic._packet_number - 1
    c.run(lambda: c.closed or t.acknowledged(c, number), "ACK")
    assert c.quic.closed is None or c.quic.closed[1] in (
        t.PROTOCOL_VIOLATION, t.FRAME_ENCODING_ERROR), c.state()


@case("RFC 9000 12.3", "a packet that comes twice counts once")
def twice(c):
    number = c.open()
    once = packet(c.quic, APPLICATION, f.stream(number, f.request("/once"), end=True))
    for _ in range(3):
        c.send(once)
    c.run(lambda: c.answer(number), "the answer")
    t.lives(c)
    assert sum(b"/once" in head for head, _ in c.test.origin.requests) == 1


@case("RFC 9000 13.2.1", "what asks for it is acknowledged")
def acknowledges(c):
    c.inject(f.frame(f.PING))
    number = c.quic._packet_number - 1
    c.run(lambda: t.acknowledged(c, number), "ACK")


@case("RFC 9000 10.2.2", "after CONNECTION_CLOSE of the client nothing is sent")
def draining(c):
    c.receive(0.05)
    c.inject(f.frame(f.CLOSE_APPLICATION, 0x100, 0))
    c.receive(0.05)
    before = len(c.arrived)
    c.inject(f.frame(f.PING))
    c.receive(0.1)
    late = c.arrived[before:]
    # Once the connection is forgotten, a packet for it may get a stateless reset.
    token = dict(c.quic.parameters)[f.RESET_TOKEN]
    assert all(data[-16:] == token for _, data in late), late


@case("RFC 9000 10.2.1", "while it closes the server answers with CONNECTION_CLOSE, more and more rarely")
def closing(c):
    c.inject(f.frame(f.HANDSHAKE_DONE))
    t.closes(c, t.PROTOCOL_VIOLATION)
    before = len(c.arrived)
    for _ in range(32):
        c.inject(f.frame(f.PING))
    while c.receive(0.05):
        pass
    assert len(c.arrived) - before <= 8, len(c.arrived) - before
