# Words that the cases of the lab are written in. Sourced by inside.sh.
# shellcheck shell=bash

count() { echo "$1 $CASE$2" >>"$LAB_COUNTS"; }
CASE=

# check_that WHAT COMMAND…: one counted expectation.
check_that() {
    local what=$1
    shift
    if "$@"; then
        count passed "$what"
        printf '  ok    %s\n' "$what"
    else
        count failed "$what"
        printf '  WRONG %s\n' "$what"
        printf '        wanted: %s\n' "$*"
        printf '        last: envdoc %s -> status %s after %s ms\n' "${asked:-}" "${code:-}" "${took:-}"
        [ -z "${error:-}" ] || printf '        stderr: %s\n' "$(head -c 600 <<<"$error")"
        jq -c '.results[]? | select(.status != "pass" and .status != "not-applicable") | [.check, .status, .says]' \
            <<<"${answer:-}" 2>/dev/null | cut -c1-240 | sed 's/^/        /'
    fi
}

# Something that this machine does not allow to be tried.
skip() {
    local outcome=skipped
    [ "$LAB_CI" = true ] && outcome=failed
    count "$outcome" "$1"
    printf '  %s %s\n' "$outcome" "$1"
}

# builds ARGUMENT…: envdoc build, which may take its time.
builds() { LIMIT=${LIMIT:-120} envdoc build "$@"; }

# envdoc ARGUMENT…: runs it; `answer`, `error`, `code` and `took` (ms) tell what came.
# With ENVDOC_LAB_LEFT=yes each run is also a line of $LAB_KEPT/runs.md: what it left behind, as far as left_state (fleet.sh) sees it.
envdoc() {
    local start end before=
    asked=$*
    [ -z "${LAB_LEFT:-}" ] || before=$(left_state)
    start=$(date +%s%N)
    answer=$(timeout -k 1 "${LIMIT:-20}" "${AS[@]}" /run/lab/envdoc "$@" 2>"$LAB/stderr")
    code=$?
    end=$(date +%s%N)
    took=$(((end - start) / 1000000))
    error=$(cat "$LAB/stderr")
    [ -z "${LAB_LEFT:-}" ] || left_behind "$before"
}
# Cases of one machine look at no host.
left_state() { :; }
# left_behind BEFORE: what is there after a run, and was not before (+), or the other way round (-).
left_behind() {
    left=$(diff <(sort <<<"$1") <(left_state | sort) | sed -n 's/^> /+/p; s/^< /-/p' | paste -sd, | sed 's/,/, /g')
    printf '| %s | `%s` | %s | %s.%s | %s |\n' "${CASE%%:*}" "${asked//"$LAB"/LAB}" "$code" "$((took / 1000))" "$((took % 1000 / 100))" \
        "${left:-nothing}" >>"$LAB_KEPT/runs.md"
    echo "        ($((took / 1000)).$((took % 1000 / 100)) s, status $code) left behind by ${asked%% --file*}: ${left:-nothing}"
}
# How envdoc is started: under another user, in another namespace.
AS=(env)

# doctor ARGUMENT…: envdoc check as JSON.
doctor() { envdoc check --format json "$@"; }

# One field of one result of the last answer.
of() { jq -r --arg check "$1" --arg field "$2" '.results[] | select(.check == $check) | .[$field]' <<<"$answer" 2>/dev/null; }

# Conditions for check_that.
ended_with() { [ "$code" -eq "$1" ]; }
status_of() { [ "$(of "$1" status)" = "$2" ]; }
says() { [[ "$(of "$1" says) $(of "$1" evidence)" == *"$2"* ]]; }
within_ms() { [ "$took" -le "$1" ]; }
is_json() { jq -e '.schema and .results and .summary' <<<"$answer" >/dev/null 2>&1; }
no_panic() { [[ "$error" != *panicked* ]] && [ "$code" -ne 101 ] && [ "$code" -lt 128 ]; }
none_is() { [ "$(jq --arg s "$1" '[.results[] | select(.status == $s)] | length' <<<"$answer")" = 0 ]; }
# No error, but for a disk that is nearly full: that is this machine's own, and check is right to name it.
no_error() {
    ended_with 0 || { ended_with 1 && same "$(jq -r '[.results[] | select(.status == "error").check] | join(",")' <<<"$answer")" data-root-too-small; }
}
same() { [ "$1" = "$2" ]; }
not() { ! "$@"; }

# wait_until SECONDS COMMAND…: until COMMAND succeeds, for at most SECONDS. What is expected is checked afterwards.
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@" || [ "$SECONDS" -ge "$end" ]; do sleep 0.2; done
}

# survives NAME ARGUMENT…: whatever the surroundings, envdoc ends in time with an answer.
survives() {
    local name=$1
    shift
    # The limit that envdoc sets itself grows with the load of the machine.
    doctor --timeout 2 "$@"
    check_that "$name: no panic" no_panic
    check_that "$name: an answer" is_json
    check_that "$name: within 3 s" within_ms 3000
}

# The engine. Its log is $LAB/dockerd.log, its data $LAB_DATA.
LAB_DATA="$LAB/docker"
engine_start() {
    : >"$LAB/dockerd.log"
    dockerd --data-root "$LAB_DATA" --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$LAB_GROUP" "$@" \
        >"$LAB/dockerd.log" 2>&1 &
    local daemon=$! _
    for _ in $(seq 300); do
        docker version >/dev/null 2>&1 && return 0
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.1
    done
    echo "  dockerd did not start:"
    tail -5 "$LAB/dockerd.log" | sed 's/^/        /'
    return 1
}

engine_stop() {
    local pid _
    pid=$(cat /run/docker.pid 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null
    for _ in $(seq 100); do
        # Gone, or only waited for by nobody.
        case $(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null) in '' | Z) break ;; esac
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null
    rm -f /run/docker.pid
    return 0
}

# emptied PATH…: removes them with what is still mounted beneath: an engine that was killed unmounts nothing. What cannot be removed is
# said; a case is judged by its checks.
emptied() {
    local path one _
    for path in "$@"; do
        # One mount may lie over another at the same place.
        for _ in 1 2 3; do
            mounted_below "$path" | while read -r one; do umount -l "$one" 2>/dev/null; done
            rm -rf --one-file-system "${path:?}" 2>/dev/null && break
            sleep 0.3
        done
        [ ! -e "$path" ] || echo "    $path cannot be removed: $(rm -rf --one-file-system "$path" 2>&1 | head -1)"
    done
    return 0
}
# Where something is mounted at PATH or below it, the innermost first.
mounted_below() {
    awk -v path="$(realpath -m "$1")" '{ gsub(/\\040/, " ", $5) } $5 == path || index($5, path "/") == 1 { print $5 }' /proc/self/mountinfo |
        sort -r
}

# stored KIND ROOT: what tests/lab/run.sh has imported, linked into the data root of an engine that was not started yet.
stored() {
    local store=$LAB_KEPT/store-$1 one
    for one in "$store"/*/; do
        case $one in
        # The engine rewrites what is in it: not in the store.
        */image/) cp -a "$one" "$2/" || return 1 ;;
        *) [ ! -d "$one" ] || cp -a --link "$one" "$2/" || return 1 ;;
        esac
    done
}

# The base image, in the engine that runs.
image() { docker image inspect lab:base >/dev/null 2>&1 || docker import "$LAB_BASE" lab:base >/dev/null; }
