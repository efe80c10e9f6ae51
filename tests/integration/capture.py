"""What is on loopback, read by tshark: the second opinion on what pqcost says it saw.

The packets are taken by a packet socket (needs root), so that nothing is missed at the start, and
written as a pcap file for tshark to dissect.
"""

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import threading
import time

ETH_P_ALL = 0x0003
PACKET_OUTGOING = 4
SO_ATTACH_FILTER = 26


def why_not():
    """Why there can be no capture here, or None."""
    if shutil.which("tshark") is None:
        return "tshark is not installed"
    if os.geteuid() != 0:
        return "capturing needs root (CAP_NET_RAW)"
    return None


def ports_filter(ports):
    """A classic BPF program (linux/filter.h): IPv4 packets from or to one of these ports."""
    load_half, load_indirect, load_header_length, equal, give = 0x28, 0x48, 0xB1, 0x15, 0x06
    accept = 5 + 2 * len(ports) + 1
    program = [(load_half, 0, 0, 12), (equal, 0, accept - 3, 0x0800), (load_header_length, 0, 0, 14)]
    for offset in (14, 16):
        program.append((load_indirect, 0, 0, offset))
        for port in ports:
            program.append((equal, accept - len(program) - 1, 0, port))
    program += [(give, 0, 0, 0), (give, 0, 0, 1 << 18)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


class Capture:
    """Takes what goes from and to these ports: other tests may load the same interface."""

    def __init__(self, path, ports, interface="lo"):
        self.path = path
        self.packets = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        program = ctypes.create_string_buffer(ports_filter(ports))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                                struct.pack("HP", len(program.raw) // 8, ctypes.addressof(program)))
        self._socket.bind((interface, 0))
        self._socket.settimeout(0.05)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self):
        quiet = 0
        # After the end is asked for, until nothing more has waited for a while.
        while not self._end.is_set() or quiet < 4:
            try:
                data, address = self._socket.recvfrom(1 << 17)
            except socket.timeout:
                quiet += 1
                continue
            quiet = 0
            # Loopback shows each packet going out and coming in.
            if address[2] == PACKET_OUTGOING:
                self.packets.append((time.time(), data))

    def stop(self):
        self._end.set()
        self._thread.join()
        self._socket.close()
        with open(self.path, "wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
            for when, data in self.packets:
                head = struct.pack("<IIII", int(when), int(when % 1 * 1e6), len(data), len(data))
                file.write(head + data)

    def fields(self, display_filter, *names, decode=()):
        """tshark's fields of each packet that the filter takes, as lists of strings."""
        command = ["tshark", "-r", str(self.path), "-Y", display_filter, "-T", "fields",
                   "-E", "separator=|"]
        for rule in decode:
            command += ["-d", rule]
        for name in names:
            command += ["-e", name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return [line.split("|") for line in done.stdout.splitlines()]
