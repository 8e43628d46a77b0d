# shellcheck shell=bash disable=SC2034,SC2154
# A rank is killed, a rank is stopped, a node is cut off: in every phase; and an image without a C library
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-phases.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

# worker_on HOST: the process that is the rank there, as its host numbers it.
worker_on() { docker_on "$1" top "$1" -eo pid,args | awk '/envdoc-worker/ && !/defunct/ { newest = $1 } END { print newest }'; }
# in_phase PHASE [ARGUMENT…]: a run that pauses for two seconds when the phase begins, so that something can happen before its first word.
in_phase() {
    local phase=$1
    shift
    smoke_start --format json --pause "$phase:2" "$@"
    smoke_reaches "$phase" 0.3
}

for phase in shm names tcp mtu rendezvous all-reduce path bandwidth; do
    in_phase "$phase"
    on node2 kill -KILL "$(worker_on node2)"
    smoke_ends
    named "a rank is killed as $phase begins" failed "$phase" '^[a-z-]+: node2: the worker exited'
done
clean "ranks killed"
for phase in tcp rendezvous all-reduce bandwidth; do
    in_phase "$phase"
    stopped=$(worker_on node2)
    on node2 kill -STOP "$stopped"
    smoke_ends
    named "a rank is stopped as $phase begins" failed "$phase" '^[a-z-]+: node2: worker stopped responding.*node2: its worker process .* is stopped by a signal'
    on node2 kill -CONT "$stopped"
done
GRACE=25 clean "ranks stopped"
for phase in worker names rendezvous all-reduce path; do
    in_phase "$phase"
    host_cut node2
    smoke_ends
    named "a node is cut off as $phase begins" failed "$phase" 'node2'
    host_join node2
    # Until the engines' gossip has found each other again.
    for _ in $(seq 60); do
        docker_on node1 exec node1 getent hosts node2 >/dev/null && docker_on node2 exec node2 getent hosts node1 >/dev/null && break
        sleep 1
    done
done
GRACE=25 clean "nodes cut off"

# An image with nothing in it but one static program: no C library, no shell, no /etc. The worker brings what it needs.
bare=$LAB/bare
mkdir -p "$bare" && printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' >"$bare.c"
if cc -static -Os -o "$bare/wait" "$bare.c" 2>"$LAB/cc.log"; then
    tar -C "$bare" -c . | docker_on node2 import - lab:bare >/dev/null
    docker_on node2 rm --force node2 >/dev/null
    cluster_yaml 'launcher: torchrun' >"$LAB/cluster/cluster.yaml"
    docker_on node2 run --detach --name node2 --hostname node2 --network lab-net lab:bare /wait >/dev/null
    smoke --format json
    says=$(jq -r .says <<<"$answer")
    check_that "an image without a C library: no phase breaks" eval '[[ $(jq -r .verdict <<<"$answer") =~ ok|slow ]]'
    printf '| an image without any C library, with one static program | %s | (none) | (none) | %s | %s.%s |\n' \
        "$(jq -r .verdict <<<"$answer")" "$says" "$((took / 1000))" "$((took % 1000 / 100))" >>"$TABLE"
    echo "        $says"
else
    skip "no static program can be made: $(head -1 "$LAB/cc.log")"
fi
in_cluster down --leave-swarm >/dev/null
hosts_stop
