#!/usr/bin/env bash
# Compares two programs: the same output, byte for byte, and the same exit code.
#
#     packaging/compare.sh PROGRAM OTHER…      packaging/compare.sh x86/envdoc qemu-aarch64 -L /usr/aarch64-linux-gnu arm/envdoc
#
# check --from on every recorded server as text and JSON, diagnose on 200 logs, lint on every file of tests/lint, resolve, explain.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
[ $# -ge 2 ] || { sed -n '2,7s/^# \?//p' "${BASH_SOURCE[0]}" && exit 2; }
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
    if ! cmp -s "$one" "$two" || [ "${codes% *}" != "${codes#* }" ]; then
        differing=$((differing + 1))
        echo "differs: envdoc $* (exit codes $codes)"
        diff "$one" "$two" | head -5
    fi
}

# An empty output on both sides would be equal too.
"$first" --version && "${other[@]}" --version || exit 2
for file in tests/servers/*.json; do
    same check --from "$file" --fail-on never
    same check --from "$file" --fail-on never --format json
done
mapfile -t logs < <(find tests/logs/failures tests/logs/healthy -type f | LC_ALL=C sort | awk 'NR % 5 == 1' | head -200)
for file in "${logs[@]}"; do same diagnose "$file"; done
for file in tests/lint/seeds/* tests/lint/valid/*; do same lint "$file"; done
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
--version --verbose
--help
LINES
echo "$runs runs, ${#logs[@]} of them logs, $bytes bytes, $differing differing"
[ "$differing" -eq 0 ]
