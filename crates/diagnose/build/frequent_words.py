"""Writes build/frequent_words.txt: how often words of four bytes stand in a MiB of logs, on an average of training as benches/diagnose_logs.py
makes it, of the healthy logs and of those of failures in tests/logs. Words with digits stay out: those are of that day.

    python3 build/frequent_words.py
"""

import collections
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "benches"))
import diagnose_logs  # noqa: E402

WORD = 4
LEAST = 16
MEBIBYTE = 1 << 20


def logs(kind):
    return b"".join(file.read_bytes() for file in sorted((diagnose_logs.LOGS / kind).glob("*.log")))


def main():
    frequency = collections.Counter()
    texts = [diagnose_logs.chunk(0, 4 * MEBIBYTE), logs("healthy"), logs("failures")]
    for text in texts:
        counts = collections.Counter(text[at:at + WORD] for at in range(len(text) - WORD + 1))
        for word, count in counts.items():
            frequency[word] += count * MEBIBYTE / len(text) / len(texts)
    rows = sorted((-round(often), word.decode()) for word, often in frequency.items()
                  if often >= LEAST and all(32 <= byte < 127 and not 48 <= byte < 58 for byte in word))
    (HERE / "frequent_words.txt").write_text("".join(f'{-often} "{word}"\n' for often, word in rows))


if __name__ == "__main__":
    main()
