# shellcheck shell=bash disable=SC2034,SC2154
# The smoke test's rarer faults: a wrong pin, a small /dev/shm, an engine that dies, an old C library; and three nodes, of which one is slow
# needs: fleet old
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-more.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
WITH_IMAGE=all hosts_start 3 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

smoke --pairs --save-baseline "$LAB/good.json"
printf '%s\n' "$answer" | sed 's/^/    /'
check_that "three nodes: no phase fails" eval '! grep -q failed <<<"$answer"'
check_that "three nodes: their pairs" grep -qE ' pairs  +[0-9.]+ s ' <<<"$answer"
echo "    whole run: $took ms"

# A firewall that lets through what is small takes the three-node ring apart in the sweep, and pairs tell whom it is about.
smoke_start --format json
smoke_reaches shm 0
tc qdisc add dev node2 root tbf rate 10mbit burst 64k latency 100ms
smoke_ends
named "10 Mbit/s to one of three nodes" slow '' 'pair by pair: node2 receives slowly'
tc qdisc del dev node2 root

smoke_start --iterations 100000 --format json
smoke_reaches bandwidth 1
engine_kill_on node3
smoke_ends
named "an engine is killed in the sweep" failed bandwidth,pairs '^bandwidth: node3'
rm -f "$FLEET/node3/run/docker.pid" "$FLEET/node3/run/docker/containerd/containerd.pid"
engine_boot_on node3 && host_ready node3
in_cluster down --leave-swarm >/dev/null
hosts_stop

WITH_IMAGE=all hosts_start 2 || return 1
cluster_yaml 'network: {interface: eth1}' >"$LAB/cluster/cluster.yaml"
in_cluster up
smoke_names "the wrong interface is pinned" failed interface 'pinned to =?eth1'
in_cluster down >/dev/null
cluster_yaml 'launcher: torchrun' >"$LAB/cluster/cluster.yaml"
in_cluster up
inside=$(docker_on node2 inspect --format '{{.State.Pid}}' node2)
on node2 nsenter --target "$inside" --mount mount -o remount,size=64k /dev/shm
smoke_names "/dev/shm of 64 KiB" failed shm 'node2: /dev/shm has 64 KiB'
docker_on node2 import "$LAB_OLD" lab:old >/dev/null
docker_on node2 rm --force node2 >/dev/null
docker_on node2 run --detach --name node2 --hostname node2 --network lab-net lab:old sleep 600 >/dev/null
smoke --format json
says=$(jq -r .says <<<"$answer")
check_that "an image with an older C library: no phase fails" eval '[[ $(jq -r .verdict <<<"$answer") =~ ok|slow ]]'
check_that "an image with an older C library: its interface is not pinned, and that is said" grep -q 'node2' <<<"$(jq -r '.phases[] | select(.name == "interface").says' <<<"$answer")"
printf '| an image whose C library is older than the one that envdoc was built with | %s | (none) | (none) | %s | %s.%s |\n' \
    "$(jq -r .verdict <<<"$answer")" "$says" "$((took / 1000))" "$((took % 1000 / 100))" >>"$TABLE"
echo "        $says"
in_cluster down --leave-swarm >/dev/null
hosts_stop
