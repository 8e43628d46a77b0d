#!/usr/bin/env bash
# Compares two programs: the same output, byte for byte, and the same exit code.
#
#     packaging/compare-architectures.sh PROGRAM OTHER…
#     packaging/compare-architectures.sh target/packaging/x86_64/envdoc \
#         qemu-aarch64-static -L /usr/aarch64-linux-gnu target/packaging/aarch64/envdoc
#
# check --from on every recorded server as text and JSON, diagnose on 200 logs, lint on the files of tests/lint, resolve, explain and more.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
[ $# -ge 2 ] || { sed -n '2,8s/^# \?//p' "${BASH_SOURCE[0]}" && exit 2; }
first=$1
shift
other=("$@")
export ENVDOC_CATALOG_DIR='' LANG=C.UTF-8 COLUMNS=100
unset ENVDOC_IGNORE ENVDOC_EXPECT ENVDOC_LINT_IGNORE DOCKER_HOST
runs=0 differing=0 bytes=0
one=$(mktemp) two=$(mktemp)
trap 'rm -f "$one" "$two"' EXIT

same() {
    local codes
    "$first" "$@" >"$one" 2>&1 </dev/null
    codes=$?
    "${other[@]}" "$@" >"$two" 2>&1 </dev/null
    codes+=" $?"
    runs=$((runs + 1))
    bytes=$((bytes + $(stat -c %s "$one")))
    # An empty output on both sides would be equal too.
    if ! cmp -s "$one" "$two" || [ "${codes% *}" != "${codes#* }" ] || [ ! -s "$one" ]; then
        differing=$((differing + 1))
        echo "differs: envdoc $* (exit codes $codes)"
        diff "$one" "$two" | head -5
    fi
}

"$first" --version && "${other[@]}" --version || exit 2
servers=(tests/servers/*.json)
for file in "${servers[@]}"; do
    same check --from "$file" --fail-on never
    same check --from "$file" --fail-on never --format json
done
mapfile -t logs < <(find tests/logs/failures tests/logs/healthy -type f | LC_ALL=C sort | awk 'NR % 5 == 1' | head -200)
for file in "${logs[@]}"; do same diagnose "$file"; done
for file in tests/lint/seeds/* tests/lint/valid/*; do same lint "$file"; done
for cuda in 11.8 12.1 12.4 12.6 12.8 13.0; do
    for python in 3.10 3.12 3.13; do same resolve --cuda "$cuda" --python "$python" --format json; done
done
while read -r line; do
    # shellcheck disable=SC2086
    same $line
done <<'LINES'
resolve --cuda 12.1 --python 3.12
resolve --deepspeed --with trl --gpu h100 --python 3.12
resolve --with vllm,flash-attn --format json
resolve --gpu gh200 --with flash-attn
resolve --gpu v100 --torch 2.9 --cuda 13
resolve --preset finetune --format toml
resolve --torch 2.6 --os debian12 --base none
render dockerfile --torch 2.7.1 --cuda 12.6 --deepspeed
matrix --python 3.12
checks --format json
lint --rules
explain driver-library-mismatch
explain xid 79
explain torch==2.6.0+cu121
explain no-such-id
catalog show gpus --format json
catalog verify
--help
LINES
echo "$runs runs (${#servers[@]} recorded servers, ${#logs[@]} logs), $bytes bytes, $differing differing"
[ "$differing" -eq 0 ]
