# shellcheck shell=bash disable=SC2034,SC2154
# The worker that envdoc brings along runs in an image with an older C library, and in one with nothing in it
# needs: old
engine_start && image || return 1
/run/lab/envdoc worker --bundle >"$LAB/bundle.tar"
check_that "the bundle is a tar" eval 'grep -q "^envdoc-worker/envdoc$" < <(tar -tf "$LAB/bundle.tar")'
loader=/$(tar -tf "$LAB/bundle.tar" | grep /ld- | head -1)
echo "    bundle: $(du -m "$LAB/bundle.tar" | cut -f1) MB"
tar -cf - -T /dev/null | docker import - lab:empty >/dev/null
docker import "$LAB_OLD" lab:old >/dev/null
echo "    C libraries: $(docker run --rm lab:old sh -c 'ls /lib/x86_64-linux-gnu/libc-*' 2>/dev/null), here $(ldd --version | head -1 | grep -o '[0-9.]*$')"
tasks='{"id":1,"seconds":5,"task":"identity"}
{"id":2,"seconds":5,"task":"interfaces"}
{"id":3,"seconds":5,"task":"resolve","name":"localhost"}
{"id":4,"seconds":5,"task":"resolve","name":"worker"}
{"id":5,"seconds":5,"task":"nonsense"}'
for name in empty old base; do
    docker create --interactive --name worker --hostname worker "lab:$name" "$loader" --library-path /envdoc-worker \
        /envdoc-worker/envdoc worker --and-remove /envdoc-worker >/dev/null
    docker cp - worker:/ <"$LAB/bundle.tar"
    answers=$(timeout 20 docker start --attach --interactive worker <<<"$tasks")
    check_that "$name: it ends well when its input does" same "$(docker inspect --format '{{.State.ExitCode}}' worker)" 0
    check_that "$name: it knows where it is" same "$(jq -r 'select(.id == 1).hostname' <<<"$answers")" worker
    check_that "$name: it sees the interfaces" same \
        "$(jq -r 'select(.id == 2).interfaces[] | select(.name == "eth0") | "\(.mtu) \(.up)"' <<<"$answers")" "1500 true"
    check_that "$name: it finds itself by name" test -n "$(jq -r 'select(.id == 4).addresses[0] // empty' <<<"$answers")"
    check_that "$name: what it does not understand is said" same "$(jq -r 'select(.id == 5).why' <<<"$answers")" not-understood
    check_that "$name: nothing of it is left" test -z "$(docker export worker | tar -t | grep envdoc-worker/)"
    docker rm --force worker >/dev/null
done
