#!/usr/bin/env bash
# Holds what `envdoc resolve --project` says of the projects in tests/projects against uv, which asks the index.
#
#     tests/projects.sh                   needs uv, jq and a package index; uv takes the index from its environment (UV_DEFAULT_INDEX)
#     ENVDOC=PROGRAM tests/projects.sh    another envdoc than the debug build
#
# Where envdoc names a stack, uv must find a set with the stack's torch; where it names a conflict, uv must refuse the torch of each
# alternative. Nothing is installed. Where it cannot look, it says SKIPPED and exits with 0.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2

envdoc=$(realpath "${ENVDOC:-${CARGO_TARGET_DIR:-target}/debug/envdoc}")
passed=0 failed=0
skip() {
    printf 'SKIPPED: %s; no project was compared\n' "$*"
    exit 0
}
pass() {
    passed=$((passed + 1))
    printf 'passed: %s\n' "$*"
}
fail() {
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$*"
}

[ -x "$envdoc" ] || {
    echo "no envdoc at $envdoc: cargo build"
    exit 2
}
command -v jq >/dev/null || skip "jq is missing"
command -v uv >/dev/null || skip "uv is missing"
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
echo packaging | timeout 60 uv pip compile -q - >/dev/null 2>&1 || skip "no package index can be reached"

# Projects, and the extra or group with which they are read.
projects=(pinned range frozen 02-r-and-c-chain 03-markers 06-windows-line-ends 09-pip-freeze 11-pep621 "12-dependency-groups --group train"
    "13-extras --extra gpu" 15-uv-sources-indexes 33-lightning 36-megatron-like)

# Whether uv finds a set of the project's packages with this torch. Indexes are left out, and with them the builds: they may be out of reach.
compiles() { # PROJECT PYTHON TORCH OPTION...
    local project=$1 python=$2 torch=$3
    shift 3
    rm -rf "$folder/project" && cp -r "tests/projects/$project" "$folder/project"
    find "$folder/project" -name '*.txt' -exec sed -i -E 's/\+cu[0-9]+//; /^(-i|-f|--index-url|--extra-index-url|--find-links)/d' {} +
    local file=$folder/project/requirements.txt
    [ -e "$file" ] || file=$folder/project/pyproject.toml
    printf 'torch==%s\n' "${torch%+*}" >"$folder/constraints.txt"
    timeout 300 uv pip compile -q "$file" "$@" -c "$folder/constraints.txt" --python-version "$python" --no-sources \
        --python-platform x86_64-manylinux_2_28 --no-build >/dev/null 2>"$folder/why"
}

for entry in "${projects[@]}"; do
    read -ra options <<<"$entry"
    project=${options[0]} options=("${options[@]:1}")
    for target in "--gpu h100 --driver 535" "--gpu rtx-5090 --driver 575"; do
        name="$entry on $target"
        # shellcheck disable=SC2086
        (cd "tests/projects/$project" && "$envdoc" resolve --project . "${options[@]}" $target --format json) >"$folder/report.json" 2>"$folder/why"
        case $? in
            0)
                torch=$(jq -r .stack.torch "$folder/report.json") python=$(jq -r .stack.python "$folder/report.json")
                if compiles "$project" "$python" "$torch" "${options[@]}"; then
                    pass "$name: torch $torch on Python $python"
                else
                    fail "$name: uv finds no set with torch $torch: $(head -c 400 "$folder/why")"
                fi
                ;;
            1)
                refused=1 torches=$(jq -r '.nearest[] | select(.wish | startswith("--") | not).stack.torch' "$folder/report.json" | sort -u)
                python=$(jq -r '.nearest[0].stack.python' "$folder/report.json")
                for torch in $torches; do
                    compiles "$project" "$python" "$torch" "${options[@]}" && refused=0
                done
                if [ "$refused" = 1 ]; then
                    pass "$name: uv refuses torch ${torches//$'\n'/ } as well"
                else
                    fail "$name: uv finds a set with one of torch $torches"
                fi
                ;;
            *) fail "$name: $(cat "$folder/why")" ;;
        esac
    done
done
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
