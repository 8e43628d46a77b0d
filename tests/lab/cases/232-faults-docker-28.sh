# shellcheck shell=bash disable=SC2034,SC2154
# Docker 28.5: the main faults of network, limits, memory and engine are named as on the machine's own engine, and nothing is left
# needs: fleet engine-28.5
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
[ -x "$LAB_KEPT/engine-28.5/usr/sbin/dockerd" ] || { skip "Docker 28.5 is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
TABLE=$LAB_KEPT/smoke-faults-docker-28.md
: >"$TABLE"
WITH_IMAGE=all hosts_start 2 28.5 28.5 || return 1
check_that "both engines are 28.5" same "$(for host in node1 node2; do docker_on "$host" version --format '{{.Server.Version}}'; done | grep -c '^28\.5')" 2
mkdir -p "$LAB/cluster" && faults_start docker-28
fixes() { check_that "$1" grep -qE "$2" < <(jq -r '.fix[]' <<<"$answer"); }
untouched() { same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}') $(docker_on node1 ps -aq | wc -l) $(docker_on node2 ps -aq | wc -l)" "inactive 0 0"; }

cluster_yaml >"$LAB/cluster/cluster.yaml" && sed -i 's/memlock: 8m, nofile: 1024/memlock: unlimited, nofile: 1000000000/' "$LAB/cluster/cluster.yaml"
fault "memlock and nofile that the engines refuse" \
    'node1: memlock to unlimited.*node1: nofile to 1000000000.*node2: memlock to unlimited.*node2: nofile to 1000000000' up
check_that "refused limits: nothing was started" untouched
cluster_yaml 'network: {subnet: 172.17.0.0/16}' >"$LAB/cluster/cluster.yaml"
fault "the overlay's subnet is that of docker0" 'subnet 172\.17\.0\.0/16 overlaps a network that node1 already uses: 172\.17\.0\.1/16 of docker0' up
in_cluster down --leave-swarm >/dev/null
on node2 ip route add 10.211.0.0/16 via 10.77.10.254
cluster_yaml 'network: {subnet: 10.211.5.0/24}' >"$LAB/cluster/cluster.yaml"
fault "the overlay's subnet is routed elsewhere by node2" 'subnet 10\.211\.5\.0/24 overlaps a network that node2 already uses: its route to 10\.211\.0\.0/16 through eth0' up
on node2 ip route del 10.211.0.0/16
in_cluster down --leave-swarm >/dev/null

cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
lossy() { on node2 iptables "$1" INPUT -i eth0 -p udp --dport 4789 -m statistic --mode random --probability 0.2 -j DROP; }
lossy -I
smoke_names "20 % of the packets from node1 to node2 get lost" failed loss '^loss: about ([6-9]|[1-5][0-9])(\.[0-9])? % of the packets from node1 to node2 are lost'
check_that "loss: within 20 s" within_ms 20000
lossy -D
host_block node2 4789/udp
smoke_names "VXLAN from node1 to node2 is dropped by node2" failed tcp \
    '^tcp: node2 drops incoming 4789/udp \(VXLAN\) from node1: .*; from node2 to node1 packets arrive'
fixes "dropped by node2: the command, on node2" 'on node2: `iptables -L INPUT'
host_unblock node2 4789/udp
in_node2() { on node2 nsenter --target "$(docker_on node2 inspect --format '{{.State.Pid}}' node2)" --mount "$@"; }
in_node2 mount -o remount,ro /dev/shm
smoke_names "/dev/shm is read-only" failed shm '^shm: node2: /dev/shm is read-only'
in_node2 mount -o remount,rw /dev/shm
limit() { docker_on node2 update --memory "$1" --memory-swap "$1" node2 >/dev/null; }
limit 60m
SIZES=8,64M smoke_names "a rank beyond the memory limit" failed bandwidth \
    "node2: the kernel's OOM killer killed 1 process in container node2 \(oom_kill in /sys/fs/cgroup/.* went from 0 to 1\)"
limit 4g
docker_on node1 exec -d node1 sleep 7777
docker_on node2 exec node2 sh -c 'echo nameserver 192.0.2.1 >/etc/resolv.conf'
smoke_names "the resolv.conf of the container of node2 is replaced" failed names \
    '^names: /etc/resolv.conf in the container of node2 names 192\.0\.2\.1 instead of 127\.0\.0\.11'
in_cluster up
check_that "resolv.conf: up: status 0" ended_with 0
check_that "resolv.conf: up restarts the container of node2 alone" \
    eval 'grep -q "resolver not set" <<<"$error" && grep -q "sleep 7777" < <(docker_on node1 top node1)'
clean "after the faults"
engine_kill_on node2
sleep 1
fault "an engine that was killed (status)" '10\.77\.10\.2.*no engine listens' status
smoke_names "an engine that was killed" failed containers '10\.77\.10\.2.*no engine listens'
engine_restart_on node2
wait_until 40 eval 'grep -q "(healthy)" < <(docker_on node2 ps --format "{{.Status}}")'
in_cluster up
check_that "the engine is back: up: status 0" ended_with 0
smoke --format json
# A busy machine's bandwidth is its own matter.
check_that "the engine is back: smoke: no phase fails" eval 'grep -qE "^(ok|slow|unknown)$" < <(jq -r .verdict <<<"$answer")'
clean "at the end"
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
check_that "down: nothing is left" untouched
hosts_stop
