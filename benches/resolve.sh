#!/usr/bin/env bash
# The resolver's speed: cold, in-process, and next to `uv pip compile` of the same request with a warm cache.
#
#     benches/resolve.sh [UV]      needs hyperfine, GNU time and, for the comparison, uv and the network
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
uv=${1:-$(command -v uv || true)}
export ENVDOC_CATALOG_DIR=""

cargo build --release --locked
cargo bench --locked --bench resolve

envdoc=target/release/envdoc
request=(--cuda 12.1 --python 3.12)
/usr/bin/time -f 'peak memory of resolve: %M KiB' "$envdoc" resolve "${request[@]}" >/dev/null
hyperfine --warmup 5 --shell none \
    "$envdoc resolve ${request[*]}" \
    "$envdoc resolve --deepspeed --with trl --gpu h100 --python 3.12" \
    "$envdoc resolve --torch 2.6 --cuda 12.1 --format json" --ignore-failure

[ -n "$uv" ] || exit 0
requirements=$(mktemp)
trap 'rm -f "$requirements"' EXIT
printf 'torch==2.8.0\ntransformers\ntrl\n' >"$requirements"
hyperfine --warmup 2 --shell none \
    "$envdoc resolve --torch 2.8.0+cu128 --with transformers,trl --python 3.12 --base none" \
    "$uv pip compile --quiet --python-version 3.12 $requirements"
