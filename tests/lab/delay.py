#!/usr/bin/env python3
"""A cable that takes its time, for kernels without netem.

    delay.py NAME PID OTHER MILLISECONDS

Makes the TAP device NAME here and OTHER in the network of the process PID, says `ready`, and carries every frame from one to the other
MILLISECONDS later, each way, until it is ended; the devices end with it.
"""
import collections
import ctypes
import fcntl
import os
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


def carry(ends, seconds):
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
                if len(held[end]) < HELD_MAX:
                    held[end].append((now + seconds, frame))
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
    carry([here, there], milliseconds / 1000)


main()
