# Words for the cases of the smoke test. Sourced by them, after fleet.sh.
# shellcheck shell=bash disable=SC2034,SC2154

# Sizes that tell bandwidth from latency and take no time.
SIZES=${SIZES:-8,1K,64K,4M}

# smoke ARGUMENT…: envdoc smoke of the file that cluster_yaml wrote.
smoke() { LIMIT=${LIMIT:-90} envdoc smoke --file "$LAB/cluster/cluster.yaml" --sizes "$SIZES" "$@"; }
# clean WHAT: no process and no file of envdoc is in any container.
clean() {
    local host left=
    for host in "${HOSTS[@]}"; do
        left+=$(docker_on "$host" top "$host" -eo args 2>/dev/null | grep envdoc-worker | grep -v defunct)
        left+=$(docker_on "$host" exec "$host" sh -c 'ls -d /envdoc-worker 2>/dev/null')
    done
    [ -z "$left" ] || { sleep "${GRACE:-2}" && GRACE=0 && left= && for host in "${HOSTS[@]}"; do
        left+=$(docker_on "$host" top "$host" -eo args 2>/dev/null | grep envdoc-worker | grep -v defunct)
        left+=$(docker_on "$host" exec "$host" sh -c 'ls -d /envdoc-worker 2>/dev/null')
    done; }
    check_that "$1: no process and no file is left" test -z "$left"
    [ -z "$left" ] || echo "        $left"
}
# smoke_start ARGUMENT…, smoke_reaches PHASE, smoke_ends: one that something happens to meanwhile.
smoke_start() {
    asked="smoke $*"
    : >"$LAB/smoke.error"
    [ -z "${LAB_LEFT:-}" ] || smoke_before=$(left_state)
    /run/lab/envdoc smoke --file "$LAB/cluster/cluster.yaml" --sizes "$SIZES" "$@" >"$LAB/smoke.answer" 2>"$LAB/smoke.error" &
    smoking=$!
}
smoke_reaches() {
    local _
    for _ in $(seq 300); do
        grep -q "^$1:" "$LAB/smoke.error" && break
        kill -0 "$smoking" 2>/dev/null || break
        sleep 0.1
    done
    sleep "${2:-0.3}"
    happened=$(date +%s%N)
}
# `took` is the time since smoke_reaches saw its phase.
smoke_ends() {
    wait "$smoking"
    code=$?
    took=$((($(date +%s%N) - happened) / 1000000))
    answer=$(cat "$LAB/smoke.answer") error=$(cat "$LAB/smoke.error")
    [ -z "${LAB_LEFT:-}" ] || left_behind "$smoke_before"
}

# A table from which docs/measurements/faults.md is taken.
TABLE=$LAB_KEPT/smoke-faults.md
# named FAULT VERDICT PHASE PATTERN: the last answer gives this verdict, at this phase, in these words.
named() {
    local fault=$1 verdict=$2 phase=$3 pattern=$4 says failed node
    says=$(jq -r '.says' <<<"$answer" 2>/dev/null)
    failed=$(jq -r '[.phases[] | select(.status == "failed") | .name] | unique | join(",")' <<<"$answer" 2>/dev/null)
    node=$(jq -r '[.phases[] | select(.status == "failed") | .node] | unique | join(", ")' <<<"$answer" 2>/dev/null)
    check_that "$fault: $verdict" same "$(jq -r .verdict <<<"$answer" 2>/dev/null)" "$verdict"
    check_that "$fault: the failed phase" same "$failed" "$phase"
    check_that "$fault: by its cause" grep -qE "$pattern" <<<"$says"
    echo "        ($((took / 1000)).$((took % 1000 / 100)) s) $says" | cut -c1-400
    [ -z "${VERBOSE:-}" ] || printf '%s\n%s\n' "$answer" "$error"
    printf '| %s | %s | %s | %s | %s | %s.%s |\n' "$fault" "$verdict" "${failed:-(none)}" "${node:-(none)}" "$says" \
        "$((took / 1000))" "$((took % 1000 / 100))" >>"$TABLE"
}
# smoke_names FAULT VERDICT PHASE PATTERN [ARGUMENT…]: a run of it.
smoke_names() {
    local fault=$1 verdict=$2 phase=$3 pattern=$4
    shift 4
    smoke --format json "$@"
    named "$fault" "$verdict" "$phase" "$pattern"
}
