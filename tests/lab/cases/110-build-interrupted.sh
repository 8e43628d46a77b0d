# shellcheck shell=bash disable=SC2034,SC2154
# Builds that do not come to their end
engine_start && image || return 1
context="$LAB/context"
mkdir -p "$context"
printf 'FROM lab:base\nRUN echo begun && sleep 301.5\n' >"$context/Dockerfile"

# begin ARGUMENT…: a build in the background that has come to its sleep.
begin() {
    "${AS[@]}" /run/lab/envdoc build --file "$context/Dockerfile" "$context" "$@" >"$LAB/stdout" 2>"$LAB/stderr" &
    building=$!
    local _
    for _ in $(seq 200); do
        sleeping=$(pgrep -fx 'sleep 301[.]5') && return
        sleep 0.1
    done
}
finish() {
    local start
    start=$(date +%s%N)
    wait "$building"
    code=$?
    took=$((($(date +%s%N) - start) / 1000000))
    answer=$(cat "$LAB/stdout") error=$(cat "$LAB/stderr")
}
idle() {
    local _
    for _ in $(seq 50); do
        [ -z "$(pgrep -fx 'sleep 301[.]5')" ] && [ -z "$(docker ps --all --quiet)" ] && return
        sleep 0.1
    done
    return 1
}
for builder in buildkit classic; do
    images=$(docker images --all --quiet | wc -l)
    begin --builder "$builder" --tag lab:never
    kill -INT "$building"
    finish
    check_that "Ctrl-C, $builder: status 130" ended_with 130
    check_that "Ctrl-C, $builder: within 5 s" within_ms 5000
    check_that "Ctrl-C, $builder: it says what is left" grep -q "the build was canceled; completed steps stay in the build cache" <<<"$error"
    check_that "Ctrl-C, $builder: the engine is idle, no container is left" idle
    check_that "Ctrl-C, $builder: no image" same "$(docker images --all --quiet | wc -l)" "$images"
done

printf 'FROM lab:base\nCMD true\n' >"$LAB/Quick"
printf '#!/bin/sh\nexec sleep 301.5\n' >"$context/python3"
chmod 755 "$context/python3"
printf 'FROM lab:base\nCOPY python3 /usr/local/bin/python3\n' >"$context/Dockerfile"
begin --tag lab:never --expect python==3
kill -INT "$building"
finish
check_that "Ctrl-C while proving: status 130" ended_with 130
check_that "Ctrl-C while proving: it says what is left" grep -q "without a tag" <<<"$error"
check_that "Ctrl-C while proving: no container is left" idle
check_that "Ctrl-C while proving: the image has no name" eval '! docker inspect lab:never >/dev/null 2>&1'

printf 'FROM lab:base\nRUN echo begun && sleep 301.5\n' >"$context/Dockerfile"
begin --tag lab:never
kill -KILL "$(cat /run/docker.pid)"
finish
check_that "the engine is killed: status 2" ended_with 2
check_that "the engine is killed: within 5 s" within_ms 5000
check_that "the engine is killed: it says so" grep -q "lost the connection to the Docker engine during the build" <<<"$error"
# What the engine leaves when it is killed, which the next one would stumble over.
# shellcheck disable=SC2086
kill -KILL $sleeping "$(cat /run/docker/containerd/containerd.pid)" 2>/dev/null
emptied /run/docker.pid /run/docker/containerd /run/docker.sock
# The build's own root file system, which the engine had mounted.
mounted_below "$LAB_DATA" | while read -r one; do umount -l "$one"; done
engine_start || return 1
check_that "the engine is killed: no image after its restart" eval '! docker inspect lab:never >/dev/null 2>&1'
builds --file "$LAB/Quick" "$context" --tag lab:next
check_that "the engine is back: status 0" ended_with 0

printf 'FROM 10.77.0.99:5000/none:1\n' >"$LAB/Elsewhere"
builds --file "$LAB/Elsewhere" "$context"
check_that "a registry that is not there: status 1" ended_with 1
check_that "a registry that is not there: it is named" grep -q "10.77.0.99:5000" <<<"$answer"
printf 'FROM lab:base\nARG INDEX\nRUN python3 -c "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])" $INDEX\n' >"$LAB/Index"
builds --file "$LAB/Index" "$context" --build-arg INDEX=http://index.invalid/simple
check_that "an index that is not there: status 1" ended_with 1
check_that "an index that is not there: Python's words" grep -qE "urlopen error" <<<"$answer"
chmod 000 "$context/Dockerfile"
mkdir -p "$context/data"
printf 'FROM lab:base\nCOPY . /x\n' >"$LAB/All"
AS=(setpriv --reuid 4242 --regid "$(stat -c %g /run/docker.sock)" --clear-groups env HOME=/nonexistent)
chmod 755 "$LAB"
builds --file "$LAB/All" "$context"
check_that "a file that cannot be read: status 2" ended_with 2
check_that "a file that cannot be read: it is named" grep -q "context/Dockerfile" <<<"$error"
AS=(env)
engine_stop

# A disk that is full.
mkdir -p "$LAB/small"
mount -t tmpfs -o size=600m small "$LAB/small" || return 1
if engine_start --data-root "$LAB/small" && image; then
    printf 'FROM lab:base\nRUN head -c 700000000 /dev/zero >/big\n' >"$LAB/Big"
    builds --file "$LAB/Big" "$context" --tag lab:big
    check_that "a full disk: status 1" ended_with 1
    check_that "a full disk: it says so" grep -qi "no space left" <<<"$answer"
    check_that "a full disk: no image" eval '! docker inspect lab:big >/dev/null 2>&1'
fi
engine_stop
emptied "$LAB/small" "$context"
