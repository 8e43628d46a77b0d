# shellcheck shell=bash disable=SC2034,SC2154
# What is wrong with a cluster is named by its cause, with what to do
# long
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster"
ask_for() { cluster_yaml "$@" >"$LAB/cluster/cluster.yaml"; }
faults_start
again() { in_cluster down --leave-swarm >/dev/null; }

ask_for && sed -i 's/10.77.10.2/nosuch.invalid/' "$LAB/cluster/cluster.yaml"
fault "a name that cannot be resolved" 'nosuch\.invalid' up

on node2 python3 -c 'import socket, time
l = socket.create_server(("", 9999)); kept = []
while True: kept.append(l.accept())' &
for _ in $(seq 50); do grep -q :9999 < <(on node2 ss -lnt) && break; sleep 0.1; done
ask_for && sed -i 's|address: 10.77.10.2|address: 10.77.10.2, engine: "tcp://10.77.10.2:9999"|' "$LAB/cluster/cluster.yaml"
fault "a node that accepts TCP and never answers" '10\.77\.10\.2.*(did not answer|no answer|answer)' up
check_that "a node that never answers: within 60 s" within_ms 60000

ask_for && sed -i 's/lab:fleet/lab:nosuch/' "$LAB/cluster/cluster.yaml"
fault "an image that no node has" 'lab:nosuch' up
again

ask_for && docker_on node2 swarm init --advertise-addr 10.77.10.2 >/dev/null
fault "a worker that is in another swarm" 'node2.*(another|other|different) swarm' up
check_that "the other swarm is left alone" same "$(docker_on node2 info --format '{{.Swarm.LocalNodeState}}')" active
docker_on node2 swarm leave --force >/dev/null && again

ask_for && host_block node1 2377/tcp
fault "2377/tcp blocked" '2377' up
host_unblock node1 2377/tcp && again

ask_for 'network: {subnet: 10.77.10.0/24}'
fault "the overlay's subnet is the machines' own" '10\.77\.10\.0/24 contains 10\.77\.10\.1' up
again

ask_for && on node1 true && sed -i 's/memlock: 8m/memlock: unlimited/' "$LAB/cluster/cluster.yaml"
fault "memlock that cannot be raised" 'memlock' up
again
# The image, which has a shell, is on both nodes: the limits of both are tried before anything is changed.
ask_for && sed -i 's/memlock: 8m, nofile: 1024/memlock: unlimited, nofile: 1000000000/' "$LAB/cluster/cluster.yaml"
fault "memlock and nofile that cannot be raised" 'node1: memlock to unlimited.*node1: nofile to 1000000000.*node2: memlock to unlimited.*node2: nofile to 1000000000' up
check_that "memlock and nofile: one problem" same "$(jq -s 'last.problems | length' <<<"$answer")" 1
check_that "memlock and nofile: nothing was changed" same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}') $(docker_on node1 ps -aq | wc -l) $(docker_on node2 ps -aq | wc -l)" "inactive 0 0"
block=$(jq -rs 'last.problems[0].fix[0]' <<<"$answer" | sed -n 's/.*`limits: \(.*\)`$/\1/p')
sed -i "s/^limits: .*/limits: $block/" "$LAB/cluster/cluster.yaml"
in_cluster up
check_that "memlock and nofile: with the block that was given: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
again

ask_for 'network: {kind: host}'
on node2 python3 -c 'import socket, time; l = socket.create_server(("", 2222)); time.sleep(600)' &
listener=$!
fault "port 2222 taken, network of the host" '2222' up
kill "$listener"
again

ask_for && host_block node2 4789/udp
fault "4789/udp blocked" '4789' up
host_unblock node2 4789/udp && again

ask_for && host_block node2 7946/tcp && host_block node2 7946/udp
fault "7946 blocked" '7946' up
host_unblock node2 7946/tcp && host_unblock node2 7946/udp && again

# A bridge lets the 4 bytes of a VLAN tag through on top.
ask_for && path_mtu node2 1400
fault "the way to a node takes 1400 bytes only" 'carries only 1404 bytes' up
path_mtu node2 1500 && again

hosts_stop
