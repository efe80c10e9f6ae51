"""Datagrams before there is a connection (RFC 9000 5.2, 6, 8, 14), and what comes around one."""

import os
import time

import harness
from http3 import frames as f
from http3 import table as t
from http3.client import HANDSHAKE, INITIAL, packet

TABLE = t.Table()  # no Retry
case = TABLE.case
RETRY_TABLE = t.Table()  # always a Retry

LONG = 0xC0


def long_packet(version, dcid, scid, size=1200, first=LONG):
    head = bytes([first]) + f.be32(version) + bytes([len(dcid)]) + dcid + bytes([len(scid)]) + scid
    return head.ljust(size, b"\0")


def done(c):
    c.connect()
    t.lives(c)


def answered(c):
    """The server has all of the hello already."""
    c.run(lambda: c.quic.frames(f.CRYPTO), "the server's flight", flush=False)
    done(c)


@case("RFC 9000 14.1", "an Initial in a datagram below 1,200 bytes is dropped", stage="new")
def small_initial(c):
    c.inject(f.crypto(c.hello()), INITIAL, pad=False)
    t.drops(c)
    done(c)


@case("RFC 9000 7.2", "a first ID of the client's choice below 8 bytes is dropped", stage="new",
      first_id=7)
def short_first_id(c):
    c.flush()
    t.drops(c)


@case("RFC 9000 7.2", "a first ID of 20 bytes is fine", first_id=20)
def long_first_id(c):
    t.lives(c)


@case("RFC 9000 17.2", "IDs of version 1 above 20 bytes are dropped", stage="new")
def long_ids(c):
    c.send(long_packet(1, b"d" * 21, b"s" * 8))
    c.send(long_packet(1, b"d" * 8, b"s" * 21))
    t.drops(c)


@case("RFC 9000 6.1", "an unknown version is told ours, with the IDs of the client", stage="new")
def version_negotiation(c):
    for dcid, scid in ((b"d" * 8, b"s" * 4), (b"d" * 40, b"s" * 255), (b"d" * 8, b"")):
        c.send(long_packet(0x1A2A3A4A, dcid, scid))
        datagram = c.drain(0, first=harness.WAIT)[0][1]
        r = f.Reader(datagram)
        assert r.bytes(1)[0] & 0x80 and r.bytes(4) == bytes(4)
        assert r.bytes(r.bytes(1)[0]) == scid and r.bytes(r.bytes(1)[0]) == dcid
        versions = r.rest()
        assert len(versions) % 4 == 0 and f.be32(1) in [
            versions[i : i + 4] for i in range(0, len(versions), 4)], versions
        assert f.be32(0x1A2A3A4A) not in versions
        assert len(datagram) <= 1200


@case("RFC 9000 6.1", "an unknown version below 1,200 bytes is told nothing", stage="new")
def small_unknown_version(c):
    c.send(long_packet(0x1A2A3A4A, b"d" * 8, b"s" * 8, size=1199))
    t.drops(c)


@case("RFC 9000 6.1", "Version Negotiation is not answered", stage="new")
def version_zero(c):
    c.send(long_packet(0, b"d" * 8, b"s" * 8))
    t.drops(c)


@case("RFC 9000 5.2.2", "packets of other types without a connection are dropped", stage="new")
def no_connection(c):
    for kind in (0x10, 0x20, 0x30):  # 0-RTT, Handshake, Retry
        c.send(long_packet(1, b"d" * 8, b"s" * 8, first=LONG | kind))
    c.send(b"\x40" + os.urandom(60))
    t.drops(c)


@case("RFC 9000 17.2.2", "a first Initial without CRYPTO begins nothing", stage="new")
def no_crypto(c):
    c.inject(f.frame(f.PING), INITIAL)
    c.receive(0.1)
    assert c.quic.closed is None or c.quic.closed[1] == t.PROTOCOL_VIOLATION


@case("RFC 9000 12.2", "what follows an Initial in its datagram for another connection is ignored",
      stage="new")
def coalesced_for_another(c):
    body = f.crypto(c.hello()) + bytes(200)
    ours = packet(c.quic, INITIAL, body)
    other = long_packet(1, os.urandom(8), b"s" * 8, size=1200 - len(ours), first=LONG | 0x20)
    c.send(ours + other)
    answered(c)


@case("RFC 9000 12.2", "garbage behind an Initial in its datagram is ignored", stage="new")
def coalesced_garbage(c):
    ours = packet(c.quic, INITIAL, f.crypto(c.hello()) + bytes(300))
    c.send(ours + os.urandom(1200 - len(ours)))
    answered(c)


@case("RFC 9000 17.2.2", "a hello in pieces, out of order and overlapping, completes", stage="new")
def pieces(c):
    hello = c.hello()
    third = len(hello) // 3
    c.inject(f.crypto(hello[2 * third :], 2 * third), INITIAL)
    c.inject(f.crypto(hello[third - 20 : 2 * third + 10], third - 20), INITIAL)
    c.inject(f.crypto(hello[: third + 5]), INITIAL)
    answered(c)


@case("RFC 9000 8.1.3", "a token that nobody made is as good as none", stage="new",
      token=b"\x00 a token of another server")
def strange_token(c):
    done(c)


@case("RFC 9000 8.1", "an Initial with an empty payload is no excuse to send more", stage="new")
def empty_initial(c):
    c.send(packet(c.quic, INITIAL, bytes(1150)))
    c.receive(0.1)
    assert sum(len(d) for _, d in c.arrived) <= 3 * c.sent


@case("RFC 9001 4.9.2", "Handshake packets behind the handshake are not looked at", stage="half")
def late_handshake(c):
    late = packet(c.quic, HANDSHAKE, f.frame(f.CLOSE, t.PROTOCOL_VIOLATION, 0, 0))
    c.connect()
    t.lives(c)
    c.send(late)
    t.lives(c)
    assert not c.quic.frames(f.CLOSE)


@case("RFC 9000 8.1.3", "a token of NEW_TOKEN is there for the next time")
def new_token(c):
    c.run(lambda: c.tokens, "NEW_TOKEN")


# ---- Retry --------------------------------------------------------------------------------------


def retry_of(c):
    """The Retry that answers the first flight, not looked at by the connection yet."""
    c.flush()
    datagrams = c.drain(0.03, first=harness.WAIT)
    assert len(datagrams) == 1, datagrams
    datagram = datagrams[0][1]
    assert datagram[0] & 0xF0 == 0xF0, datagram[:1]
    r = f.Reader(datagram)
    assert r.bytes(5)[1:] == f.be32(1)
    assert r.bytes(r.bytes(1)[0]) == c.quic.host_cid
    scid = r.bytes(r.bytes(1)[0])
    return datagram, scid, r.rest()[:-16]


def take(c, datagram):
    c.quic.receive_datagram(datagram, c.address, time.monotonic())


@RETRY_TABLE.case("RFC 9000 17.2.5.1", "a Retry has another ID, and is smaller than what it answers",
                  stage="new")
def retry(c):
    datagram, scid, token = retry_of(c)
    assert scid != c.quic._original_destination_connection_id and token
    assert len(datagram) < 1200
    take(c, datagram)
    assert c.quic._retry_count == 1, "the integrity tag is wrong (RFC 9001 5.8)"
    done(c)
    given = dict(c.quic.parameters)
    assert given[f.RETRY_SOURCE_ID] == scid  # RFC 9000 7.3
    assert given[f.ORIGINAL_ID] == c.quic._original_destination_connection_id


@RETRY_TABLE.case("RFC 9000 8.1.2", "a Retry token of another address is INVALID_TOKEN", stage="new")
def moved_token(c):
    take(c, retry_of(c)[0])
    c.move()
    c.flush()
    c.receive(1)
    assert c.quic.closed and c.quic.closed[1] == t.INVALID_TOKEN, c.state()


@RETRY_TABLE.case("RFC 9000 8.1.4", "a Retry token for another ID opens nothing", stage="new")
def token_for_another(c):
    take(c, retry_of(c)[0])
    c.quic._peer_cid.cid = os.urandom(18)
    for pair in c.quic._cryptos_initial.values():
        pair.setup_initial(cid=c.quic._peer_cid.cid, is_client=True, version=1)
    c.flush()
    c.receive(0.2)
    assert not c.quic.frames(f.CRYPTO), c.state()


@RETRY_TABLE.case("RFC 9000 8.1.4", "a Retry token that was changed opens nothing", stage="new")
def changed_token(c):
    take(c, retry_of(c)[0])
    token = bytearray(c.quic._peer_token)
    token[-1] ^= 1
    c.quic._peer_token = bytes(token)
    c.flush()
    c.receive(0.2)
    # INVALID_TOKEN, or another Retry, which a client ignores: no handshake.
    assert not c.quic.frames(f.CRYPTO), c.state()


@RETRY_TABLE.case("RFC 9000 8.1.2", "the datagrams of a hello get a Retry each at most, and no state",
                  stage="new")
def retry_each(c):
    before = c.edge.metric("pqedge_quic_connections_total")
    c.inject(f.crypto(c.hello()), INITIAL)
    c.inject(f.crypto(c.hello()), INITIAL)
    assert len(c.drain(0.05)) <= 2
    assert c.edge.metric("pqedge_quic_connections_total") == before


@RETRY_TABLE.case("RFC 9000 8.1.3", "a token of NEW_TOKEN spares the Retry")
def spared(c):
    from http3.client import Client
    c.run(lambda: c.tokens, "NEW_TOKEN")
    assert c.quic._retry_count == 1
    with Client(c.edge.port, token=c.tokens[0]) as again:
        again.connect()
        assert again.quic._retry_count == 0
        t.lives(again)
