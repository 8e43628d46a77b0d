# shellcheck shell=bash disable=SC2034,SC2154
# Three hosts, the second one's engine newer: up, every container reaches every other, one node more or less, down
# needs: fleet engine-26.1
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
newer=
[ ! -x "$LAB_KEPT/engine-26.1/usr/sbin/dockerd" ] || newer=26.1
WITH_IMAGE=node2 hosts_start 3 "" "$newer" || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
echo "    up after $took ms"
check_that "up: every container tried both others" same "$(grep -c 'names 2 of 2, TCP 2 of 2, ssh 2 of 2, packets of 1450 bytes' <<<"$error")" 3
ids=$(for host in node1 node2 node3; do docker_on "$host" image inspect --format '{{.Id}}' lab:fleet; done | sort -u | wc -l)
check_that "up: the image of node2 is on all" same "$ids" 1
in_cluster exec all -- sh -c 'for other in node1 node2 node3; do ssh $other hostname; done | xargs'
check_that "exec all: ssh from each to each" same "$(grep -c 'node1 node2 node3$' <<<"$answer")" 3
in_cluster exec node1 -- sh -c 'cat /etc/envdoc/hostfile; pdsh -w node1,node2,node3 hostname 2>&1 | sort | xargs'
check_that "pdsh with the hostfile's nodes" grep -q 'node1: node1 node2: node2 node3: node3' <<<"$answer"
host_cut node3
sleep 1
in_cluster status
check_that "a node without its cable: status 1, and it is named" eval 'ended_with 1 && grep -q "node3.*not reached" <<<"$answer"'
host_join node3
for _ in $(seq 20); do in_cluster status; [ "$code" -eq 0 ] && break; sleep 1; done
check_that "its cable is back: status 0" ended_with 0
in_cluster up
check_that "up again: status 0" ended_with 0
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
for host in node1 node2 node3; do
    check_that "down: nothing on $host" same "$(docker_on "$host" ps --all --quiet)$(docker_on "$host" volume ls --quiet)$(docker_on "$host" info --format '{{.Swarm.LocalNodeState}}')" inactive
done
hosts_stop
