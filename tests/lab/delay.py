#!/usr/bin/env python3
"""A cable that takes its time, or is bad in one direction, for kernels without netem.

    delay.py NAME PID OTHER MILLISECONDS [corrupt|duplicate|reorder PERCENT]

Makes the TAP device NAME here and OTHER in the network of the process PID, says `ready`, and carries every frame from one to the other
MILLISECONDS later, each way, until it is ended; the devices end with it. So many percent of the UDP frames from NAME to OTHER have one byte
changed behind all headers of the overlay, arrive twice, or arrive behind the next one.
"""
import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, TAP, NO_PACKET_INFORMATION = 0x400454CA, 0x0002, 0x1000
FRAME_MAX = 65536
# What a cable holds at most, in frames: 25 ms of 1 Gbit/s are some 2,100 of the largest.
HELD_MAX = 20000


def tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP | NO_PACKET_INFORMATION))
    return device


def enter_network_of(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as namespace:
        if libc.setns(namespace.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")


# Ethernet, IP, UDP, VXLAN, and Ethernet, IP and TCP in it.
HEADERS = 14 + 20 + 8 + 8 + 14 + 20 + 32
UDP = 17


class Fault:
    """What becomes of a frame in the bad direction."""

    def __init__(self, kind, percent):
        self.kind, self.part, self.held = kind, percent / 100, None

    def frames(self, frame):
        behind = [self.held] if self.held else []
        self.held = None
        hit = len(frame) > HEADERS + 8 and frame[12:14] == b"\x08\x00" and frame[23] == UDP and random.random() < self.part
        if not hit:
            return [frame] + behind
        if self.kind == "corrupt":
            changed = bytearray(frame)
            changed[HEADERS + 4] ^= 0x55
            return [bytes(changed)] + behind
        if self.kind == "duplicate":
            return [frame, frame] + behind
        self.held = frame
        return behind


def carry(ends, seconds, fault=None):
    held = {end: collections.deque() for end in ends}
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    while True:
        due = [queue[0][0] for queue in held.values() if queue]
        wait = None if not due else max(0.0, min(due) - time.monotonic())
        readable, _, _ = select.select(ends, [], [], wait)
        now = time.monotonic()
        for end in readable:
            # Not for ever: what is due goes first.
            for _ in range(64):
                try:
                    frame = os.read(end, FRAME_MAX)
                except OSError:
                    break
                for kept in fault.frames(frame) if fault and end == ends[0] else [frame]:
                    if len(held[end]) < HELD_MAX:
                        held[end].append((now + seconds, kept))
        now = time.monotonic()
        for end, queue in held.items():
            while queue and queue[0][0] <= now:
                try:
                    os.write(other[end], queue.popleft()[1])
                except OSError:
                    pass  # The device is down, or full: a cable drops then.


def main():
    name, pid, inside, milliseconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    here = tap(name)
    enter_network_of(pid)
    there = tap(inside)
    print("ready", flush=True)
    fault = Fault(sys.argv[5], float(sys.argv[6])) if len(sys.argv) > 6 else None
    carry([here, there], milliseconds / 1000, fault)


main()
