"""Logs of a given size for benches/diagnose.sh, the same bytes at every run: made from the logs in tests/logs.

    python3 benches/diagnose_logs.py few|many MIB FILE

few: what training prints when all is well (steps, progress bars, NCCL's and torchrun's lines, several ranks and nodes), and every 32 MiB
the log of a failure. many: the logs of failures, one after the other.
"""

import pathlib
import sys

LOGS = pathlib.Path(__file__).parent.parent / "tests/logs"
MEBIBYTE = 1 << 20


def lines(kind):
    for file in sorted((LOGS / kind).glob("*.log")):
        yield from file.read_bytes().splitlines()


def training(number):
    """Some lines of one step on every rank."""
    clock = b"2026-03-%02d %02d:%02d:%02d,%03d" % (
        1 + number // 86400 % 28, number // 3600 % 24, number // 60 % 60, number % 60, number * 37 % 1000)
    loss = 11.0 / (1 + number / 900)
    for rank in range(4):
        yield b"[rank%d]:%s INFO train.py:212 step %d/200000 loss %.4f lr %.3e grad_norm %.3f tokens/s %d mem %.1fGiB" % (
            rank, clock, number, loss + rank / 1000, 3e-4 * (1 - number / 2e5), 1 + number * 13 % 97 / 97, 11000 + number * 7919 % 800,
            60 + number % 13)
    if number % 5 == 0:
        bars = (b"Epoch %d: %3d%%|%s%s| %d/1000 [00:%02d<00:%02d, 11.%dit/s, loss=%.3f]" % (
            number // 1000, at, b"#" * (at // 4), b" " * (25 - at // 4), at * 10, at % 60, 60 - at % 60, at % 10, loss)
            for at in range(0, 100, 20))
        yield b"\r".join(bars)
    if number % 50 == 0:
        yield b'{"step": %d, "eval": {"loss": %.5f, "perplexity": %.3f}, "time": "%s", "host": "node%d"}' % (
            number, loss, 2.7 ** loss, clock, number % 8)
    if number % 97 == 0:
        yield "node%d: [%s] 检查点已保存到 /data/checkpoints/step_%d (耗时 %d 秒)".encode() % (number % 8, clock, number, number % 31)


def chunk(number, size):
    """So many bytes of training, with what healthy programs print between."""
    others = list(lines("healthy"))
    parts, length, step = [], 0, number * 1000003
    while length < size:
        step += 1
        new = list(training(step))
        if step % 4 == 0:
            at = step // 4 * 5 % len(others)
            new += others[at:at + 5]
        text = b"\n".join(new) + b"\n"
        parts.append(text)
        length += len(text)
    return b"".join(parts)


def main(kind, mebibytes, file):
    size = int(mebibytes) * MEBIBYTE
    failures = [file.read_bytes() for file in sorted((LOGS / "failures").glob("*.log"))]
    if kind == "many":
        failures = [b"".join(failures)]
    # Steps are made anew for the first eighth, then the same again under other failures.
    healthy = [chunk(number, 16 * MEBIBYTE) for number in range(8)] if kind == "few" else []
    with open(file, "wb") as out:
        number = 0
        while out.tell() < size:
            if healthy:
                out.write(healthy[number % len(healthy)])
            if not healthy or number % 2 == 1:
                out.write(failures[number // 2 * 7 % len(failures)])
            number += 1
        out.truncate(size)


if __name__ == "__main__":
    main(*sys.argv[1:])
