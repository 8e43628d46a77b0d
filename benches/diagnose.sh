#!/usr/bin/env bash
# `envdoc diagnose` on large logs next to ripgrep with as many literals, in one run on one machine and one core.
#
#     benches/diagnose.sh [MIB] [RUNS]
#
# The logs are made by benches/diagnose_logs.py from those in tests/logs, the same at every run: "few" is healthy training with the log of a
# failure every 32 MiB, "many" is nothing but logs of failures. ripgrep gets the literals of all signatures and only counts lines; envdoc also
# finds lines that look like an error, reads what each hit says, and weighs. Needs rg, python3, GNU time; ENVDOC names another program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mib=${1:-1024} runs=${2:-5}
work=target/bench
mkdir -p "$work"
for program in rg python3 taskset; do
    command -v "$program" >/dev/null || { echo "missing: $program" >&2; exit 2; }
done
[ -x /usr/bin/time ] || { echo "missing: GNU time (apt-get install time)" >&2; exit 2; }
if [ -z "${ENVDOC:-}" ]; then
    cargo build --release --quiet --locked
    ENVDOC=$PWD/target/release/envdoc
fi

# The literals as the program was built with them: of the newest list that a build has written.
list=$(find target -path '*/out/literals.txt' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
cp "$list" "$work/literals.txt"
for size in "few $mib" "few $((mib / 4))" "many $((mib / 2))"; do
    file=$work/${size/ /-}.log
    # shellcheck disable=SC2086 # kind and size are two words
    [ -s "$file" ] || python3 benches/diagnose_logs.py $size "$file"
done
echo "RuntimeError: CUDA error: out of memory" >"$work/one-line.log"

core=$(($(nproc) - 1))
echo "$(lscpu | sed -n 's/^Model name: *//p'), core $core of $(nproc); load $(cut -d' ' -f1 /proc/loadavg); $("$ENVDOC" --version); $(rg --version | sed -n 1p); $(wc -l <"$work/literals.txt") literals"
printf '%-28s %9s %9s %9s %10s %12s\n' "best of $runs" seconds cpu GB/s 'GB/s cpu' 'peak memory'
measure() { # NAME FILE COMMAND…: the fastest run by the clock, and the least time on the processor
    local name=$1 file=$2
    shift 2
    for _ in $(seq "$runs"); do
        # Both end with 1 where they find what they look for, or nothing.
        { /usr/bin/time -f 'TIME %e %U %S %M' taskset -c "$core" "$@" >/dev/null || true; } 2>&1 | sed -n 's/^TIME //p'
    done | awk -v name="$name" -v bytes="$(stat -c %s "$file")" '
        { cpu = $2 + $3; if (NR == 1 || $1 < wall) wall = $1; if (NR == 1 || cpu < least) least = cpu; if ($4 > peak) peak = $4 }
        END { w = wall > 0 ? wall : 0.01; c = least > 0 ? least : 0.01
              printf "%-28s %9.2f %9.2f %9.2f %10.2f %8.1f MiB\n", name, wall, least, bytes / 1e9 / w, bytes / 1e9 / c, peak / 1024 }'
}
for log in "few-$mib" "few-$((mib / 4))" "many-$((mib / 2))" one-line; do
    file=$work/$log.log
    cat "$file" >/dev/null
    measure "envdoc diagnose $log" "$file" "$ENVDOC" diagnose "$file"
    measure "rg -c -F -f $log" "$file" rg -c -F -f "$work/literals.txt" "$file"
done
