#!/usr/bin/env bash
# `envdoc check` next to its peers, in one run on one machine: wall time and peak memory, and the ratios.
#
#     benches/check.sh [RUNS]
#
# Peers: `env-doctor check` (from PyPI, installed into target/bench), `python3 -m torch.utils.collect_env` where a python3 with torch is on
# PATH or named in BENCH_PYTHON. Whether an engine runs is up to you: the table says so. Needs hyperfine, GNU time, jq, python3 with venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-40}
work=target/bench
mkdir -p "$work"

for program in hyperfine jq python3; do
    command -v "$program" >/dev/null || { echo "missing: $program (apt-get install $program)" >&2; exit 2; }
done
time_program=/usr/bin/time
[ -x "$time_program" ] || { echo "missing: GNU time (apt-get install time)" >&2; exit 2; }

cargo build --release --quiet
envdoc=$PWD/target/release/envdoc
names=("envdoc check") commands=("$envdoc check --fail-on never")

if [ ! -x "$work/venv/bin/env-doctor" ]; then
    python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet env-doctor || echo "env-doctor could not be installed" >&2
fi
if [ -x "$work/venv/bin/env-doctor" ]; then
    names+=("env-doctor check") commands+=("$work/venv/bin/env-doctor check")
fi
python=${BENCH_PYTHON:-python3}
if "$python" -c 'import torch' 2>/dev/null; then
    names+=("torch.utils.collect_env") commands+=("$python -m torch.utils.collect_env")
fi

arguments=(--ignore-failure --warmup 3 --min-runs 10 --max-runs "$runs" --shell=none --export-json "$work/times.json")
hyperfine "${arguments[@]}" "${commands[@]}" >"$work/hyperfine.txt" 2>&1 || { cat "$work/hyperfine.txt" >&2; exit 1; }

engine=stopped
docker version >/dev/null 2>&1 && engine="running ($(docker version --format '{{.Server.Version}}'))"
echo "Docker engine: $engine; $(nproc) cores; $(uname -sr); envdoc $($envdoc --version | cut -d' ' -f2)"
printf '%-26s %10s %10s %10s %12s %8s\n' command median min max 'peak memory' ratio
for index in "${!commands[@]}"; do
    # shellcheck disable=SC2086 # the commands are words of this script
    peak=$("$time_program" -f %M ${commands[$index]} 2>&1 >/dev/null | tail -1)
    jq -r --argjson i "$index" '.results as $r | $r[$i] | [.median, .min, .max, (.median / $r[0].median)] | @tsv' "$work/times.json" |
        while read -r median min max ratio; do
            awk -v n="${names[$index]}" -v a="$median" -v b="$min" -v c="$max" -v p="$peak" -v r="$ratio" \
                'BEGIN { printf "%-26s %7.1f ms %7.1f ms %7.1f ms %8.1f MiB %7.1fx\n", n, a*1000, b*1000, c*1000, p/1024, r }'
        done
done
