"""Connection IDs, addresses that change, the end of a connection, loss (RFC 9000 5, 8 to 10; 9002)."""

import os
import time

import harness
from aioquic.quic.connection import QuicConnectionId

from http3 import frames as f
from http3 import table as t
from http3.client import APPLICATION, challenge, packet

TABLE = t.Table()
case = TABLE.case


def ids_of(datagrams, length=8):
    """The destination IDs of short-header packets."""
    return {d[1 : 1 + length] for d in datagrams if not d[0] & 0x80}


def bytes_on(c, index):
    return sum(len(data) for i, data in c.arrived if i == index)


LOUD = 15_000


def loud(c):
    """A request whose answer is long enough to see where it goes."""
    number = c.request("/loud", ("x-long", "l" * (LOUD + 1000)))
    c.run(lambda: c.answer(number), "the answer")


# ---- paths --------------------------------------------------------------------------------------


@case("RFC 9000 8.2.2", "PATH_CHALLENGE is answered with its data, in a full datagram")
def asked(c):
    before = len(c.arrived)
    c.inject(challenge(c.quic, b"question"))
    c.run(lambda: c.quic.frames(f.PATH_RESPONSE), "PATH_RESPONSE")
    assert c.quic.frames(f.PATH_RESPONSE)[0] == [b"question"]
    assert max(len(d) for _, d in c.arrived[before:]) >= 1200


@case("RFC 9000 9.1", "a probe of a new address is answered there, and moves nothing")
def probe(c):
    c.run(lambda: c.quic._peer_cid_available, "another ID of the server")
    c.move()
    c.using = 0
    other = c.quic._peer_cid_available[0].cid
    c.inject(challenge(c.quic, b"from new"), of=1, dcid=other)
    c.run(lambda: c.quic.frames(f.PATH_RESPONSE), "PATH_RESPONSE", flush=False)
    assert bytes_on(c, 1) > 0, "the answer went to the old address"
    before = bytes_on(c, 0), bytes_on(c, 1)
    loud(c)
    assert bytes_on(c, 0) - before[0] > LOUD, "the connection moved with a probe"
    assert bytes_on(c, 1) - before[1] < LOUD, "the connection moved with a probe"


@case("RFC 9000 9.3", "a client with a new address is followed, and asked whether it is there")
def migration(c):
    c.run(lambda: c.quic._peer_cid_available, "another ID of the server")
    asked = len(c.quic.frames(f.PATH_CHALLENGE))
    c.quic.change_connection_id()
    old = ids_of(d for _, d in c.arrived)
    c.move()
    number = c.request("/moved")
    c.run(lambda: c.answer(number), "the answer")
    assert bytes_on(c, 1) > 0
    c.run(lambda: len(c.quic.frames(f.PATH_CHALLENGE)) > asked, "PATH_CHALLENGE")  # 8.2.1
    # RFC 9000 9.5: the client took another ID, so the server does.
    t.lives(c)
    new = ids_of(d for i, d in c.arrived if i == 1)
    assert new and not new & old, (new, old)


@case("RFC 9000 9.3.1", "an address that was not asked yet gets three times what came from it")
def new_address_limited(c):
    # Our answers to the server's questions are held back, as if the address were forged.
    c.move()
    before = c.sent
    c.inject(f.stream(0, f.request("/big"), end=True))
    sent = c.sent - before
    got, end = 0, time.monotonic() + 0.3
    while time.monotonic() < end:
        got += sum(len(d) for i, d in c.drain(0.05) if i == 1)
    assert 0 < got <= 3 * sent, (got, sent)


@case("RFC 9000 9.3", "an old packet from the old address does not move the connection back")
def late_packet(c):
    late = packet(c.quic, APPLICATION, f.frame(f.PING))
    c.move()
    t.lives(c)
    c.send(late, of=0)
    before = bytes_on(c, 0), bytes_on(c, 1)
    loud(c)
    assert bytes_on(c, 0) - before[0] < LOUD, "the connection went back"
    assert bytes_on(c, 1) - before[1] > LOUD, "the connection went back"


# ---- connection IDs -----------------------------------------------------------------------------


@case("RFC 9000 5.1.1", "the server issues other IDs, as many as the client takes, each with its token")
def issued(c):
    c.run(lambda: c.quic.frames(f.NEW_CONNECTION_ID), "NEW_CONNECTION_ID")
    given = c.quic.frames(f.NEW_CONNECTION_ID)
    assert len({cid for _, _, cid, _ in given}) == len(given) <= 7, given
    assert len({token for *_, token in given}) == len(given)
    assert all(8 <= len(cid) <= 20 for _, _, cid, _ in given)


@case("RFC 9000 5.1.1", "no more IDs than active_connection_id_limit",
      parameters=lambda pairs: [p for p in pairs if p[0] != f.ID_LIMIT] + [(f.ID_LIMIT, b"\x02")])
def issued_few(c):
    t.lives(c)
    assert {sequence for sequence, *_ in c.quic.frames(f.NEW_CONNECTION_ID)} <= {1}


@case("RFC 9000 5.1.1", "an ID that the client retires is replaced")
def replaced(c):
    c.run(lambda: c.quic.frames(f.NEW_CONNECTION_ID), "NEW_CONNECTION_ID")
    highest = max(s for s, *_ in c.quic.frames(f.NEW_CONNECTION_ID))
    c.inject(f.frame(f.RETIRE_CONNECTION_ID, highest))
    c.quic._peer_cid_available = [cid for cid in c.quic._peer_cid_available
                                  if cid.sequence_number != highest]
    c.run(lambda: any(s > highest for s, *_ in c.quic.frames(f.NEW_CONNECTION_ID)), "another ID")
    c.quic.change_connection_id()
    t.lives(c)


@case("RFC 9000 5.1.2", "what the client asks to retire is retired, and not used any more")
def retired(c):
    t.lives(c)
    sequence = c.quic._host_cid_seq
    mine = QuicConnectionId(cid=os.urandom(8), sequence_number=sequence, was_sent=True,
                            stateless_reset_token=os.urandom(16))
    old = c.quic._host_cids[0].cid
    c.quic._host_cids.append(mine)
    c.quic._host_cid_seq += 1
    c.inject(f.new_connection_id(sequence, mine.cid, 1, mine.stateless_reset_token))
    c.run(lambda: [0] in c.quic.frames(f.RETIRE_CONNECTION_ID), "RETIRE_CONNECTION_ID")
    before = len(c.arrived)
    t.lives(c)
    assert old not in ids_of(d for _, d in c.arrived[before:])


# ---- the end ------------------------------------------------------------------------------------


def forget(c, dcid):
    """Ends the connection and waits until the server knows nothing of it: its stateless reset."""
    c.inject(f.frame(f.CLOSE_APPLICATION, t.H3_NO_ERROR, 0))
    c.drain(0.02)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        c.send(b"\x40" + dcid + os.urandom(60))
        for _, datagram in c.drain(0.05):
            return datagram, 61 + len(dcid)
    raise AssertionError("no stateless reset came")


@case("RFC 9000 10.3", "a packet of a connection that is gone gets its stateless reset")
def stateless_reset(c):
    token = dict(c.quic.parameters)[f.RESET_TOKEN]
    datagram, size = forget(c, c.quic._peer_cid.cid)
    assert datagram[-16:] == token
    assert datagram[0] & 0xC0 == 0x40, "it looks like no packet with a short header"
    assert 21 <= len(datagram) < size, "10.3.3: it must be smaller than what it answers"


@case("RFC 9000 10.3.2", "a stateless reset for another ID has the token that came with it")
def stateless_reset_of_another(c):
    c.run(lambda: c.quic.frames(f.NEW_CONNECTION_ID), "NEW_CONNECTION_ID")
    _, _, cid, token = c.quic.frames(f.NEW_CONNECTION_ID)[-1]
    assert forget(c, cid)[0][-16:] == token


@case("RFC 9000 10.3.3", "a small packet gets no stateless reset")
def no_reset_of_small(c):
    cid = c.quic._peer_cid.cid
    forget(c, cid)
    c.send(b"\x40" + cid + b"1234")
    t.drops(c)


def idle(pairs):
    return [p for p in pairs if p[0] != f.IDLE_TIMEOUT] + [(f.IDLE_TIMEOUT, f.varint(200))]


@case("RFC 9000 10.1", "the client's idle timeout counts where it is the shorter", parameters=idle)
def idle_timeout(c):
    before = c.edge.metric("pqedge_quic_idle_timeouts_total")
    harness.wait_for(lambda: c.edge.metric("pqedge_quic_idle_timeouts_total") > before, "the timeout")
    c.receive(0)
    assert not c.quic.frames(f.CLOSE, f.CLOSE_APPLICATION)  # it is silent


# ---- loss (RFC 9002) ----------------------------------------------------------------------------


@case("RFC 9002 6.2", "an answer whose packets are lost is sent again")
def lost_answer(c):
    number = c.request("/lost")
    c.flush()
    assert c.drain(0.01, first=harness.WAIT)
    c.run(lambda: c.answer(number), "the answer")
    assert c.answer(number)[0] == 200


@case("RFC 9002 6.1.1", "a packet in the middle that is lost is sent again")
def lost_in_the_middle(c):
    number = c.request("/big")
    c.run(lambda: len(c.stream(number).data) > 50_000, "some of the answer")
    assert c.drain(0.0, first=harness.WAIT)
    before = len(c.stream(number).data)
    c.run(lambda: len(c.stream(number).data) > before + 100_000, "more of it")


@case("RFC 9002 7.2", "nothing that is not acknowledged exceeds the first window")
def first_window(c):
    c.request("/big")
    c.flush()
    got = sum(len(d) for _, d in c.drain(0.15, first=harness.WAIT))
    # 14,720 bytes, what the handshake's acknowledgments added, and probes: not megabytes.
    assert 0 < got < 60_000, got


@case("RFC 9002 6.2.1", "the server's probes for what is lost become rarer")
def probes(c):
    c.request("/lost-for-long")
    c.flush()
    times, end = [], time.monotonic() + 1.5
    while time.monotonic() < end:
        if c.drain(0.0):
            times.append(time.monotonic())
        time.sleep(0.002)
    # Without backing off a timeout of about 30 ms would make some fifty.
    assert 2 <= len(times) <= 25, len(times)


# ---- ECN ----------------------------------------------------------------------------------------


@case("RFC 9000 13.4.1", "packets that came without ECN are not reported with it")
def no_ecn(c):
    t.lives(c)
    assert not [k for _, k, _ in c.quic.seen if k == f.ACK + 1]


# ---- amplification ------------------------------------------------------------------------------

LARGE = t.Table()  # against a certificate of several datagrams


@LARGE.case("RFC 9000 8.1", "an address that was not validated gets three times what came from it",
            stage="new")
def amplification(c):
    c.flush()
    first = c.sent
    got = sum(len(d) for _, d in c.drain(0.15, first=harness.WAIT))
    assert first < got <= 3 * first, (got, first)
    c.connect()  # and with what comes next it completes
    t.lives(c)


@LARGE.case("RFC 9000 8.1", "garbage that counts as received does not raise the limit by more", stage="new")
def amplification_by_garbage(c):
    c.flush()
    c.send(b"\xc0" + os.urandom(50))
    got = sum(len(d) for _, d in c.drain(0.15, first=harness.WAIT))
    assert got <= 3 * c.sent, (got, c.sent)


@LARGE.case("RFC 9002 6.2.2", "a first flight that is lost as a whole is sent again", stage="new")
def lost_flight(c):
    c.flush()
    c.drain(0.05, first=harness.WAIT)
    c.connect()
    t.lives(c)
