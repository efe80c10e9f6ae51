"""Datagrams over the emulated link: `echo` in the server's namespace, `ask` in the client's.

    link_probe.py echo
    link_probe.py ask COUNT SIZE GAP_SECONDS      prints what came back as JSON
"""

import json
import os
import select
import socket
import struct
import sys
import time

PORT = 5007
IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU = 10, 2, 14
SERVER = os.environ["PQCOST_SERVER_IP"]


def echo():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((SERVER, PORT))
    # Whoever waits for a TCP port learns that the UDP socket is there.
    tcp = socket.create_server((SERVER, PORT))
    while True:
        ready, _, _ = select.select([udp, tcp], [], [])
        if tcp in ready:
            tcp.accept()[0].close()
        if udp in ready:
            data, address = udp.recvfrom(65536)
            udp.sendto(data[:100], address)


def ask(count, size, gap):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
    udp.connect((SERVER, PORT))
    sent, came, errors = {}, {}, []

    def take(wait):
        while select.select([udp], [], [], wait)[0]:
            try:
                (number,) = struct.unpack_from("!I", udp.recv(65536))
                came.setdefault(number, (time.monotonic() - sent[number]) * 1000)
            except OSError as error:
                errors.append(error.errno)

    for number in range(count):
        sent[number] = time.monotonic()
        try:
            udp.send(struct.pack("!I", number) + bytes(size - 4))
        except OSError as error:
            errors.append(error.errno)
        take(gap)
    take(0.5)
    print(json.dumps({"came": sorted(came), "ms": sorted(came.values()), "errors": errors,
                      "mtu": udp.getsockopt(socket.IPPROTO_IP, IP_MTU)}))


if sys.argv[1] == "echo":
    echo()
else:
    ask(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
