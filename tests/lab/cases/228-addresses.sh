# shellcheck shell=bash disable=SC2034,SC2154
# A subnet that a node has a route to, and a node whose address changed after it joined the swarm: named before anything is created or restarted
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && faults_start addresses

on node2 ip route add 10.211.0.0/16 via 10.77.10.254
cluster_yaml 'network: {subnet: 10.211.5.0/24}' >"$LAB/cluster/cluster.yaml"
fault "the overlay's subnet is routed elsewhere by a node" 'subnet 10\.211\.5\.0/24 overlaps a network that node2 already uses: its route to 10\.211\.0\.0/16 through eth0' up
check_that "a route: the command that shows it, on node2" grep -q 'on node2: `ip route get 10.211.0.0' <<<"$answer"
check_that "a route: no network was created" same "$(docker_on node1 network ls --quiet --filter name=lab-net)" ''
on node2 ip route del 10.211.0.0/16
in_cluster down --leave-swarm >/dev/null

cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
in_cluster status
check_that "status: no word of addresses" eval '! grep -q "the swarm knows" <<<"$answer$error"'
on node2 ip addr del 10.77.10.2/24 dev eth0
on node2 ip addr add 10.77.10.32/24 dev eth0
on node2 ip route add default via 10.77.10.254
sed -n 's/^node2,[^ ]* /10.77.10.32 /p' /run/lab/root/.ssh/known_hosts >>/run/lab/root/.ssh/known_hosts
sed -i 's/10\.77\.10\.2,/10.77.10.32,/' "$LAB/cluster/cluster.yaml"
in_cluster status
check_that "a new address: status names both" grep -q 'node2: the swarm knows it as 10.77.10.2, cluster.yaml as 10.77.10.32' <<<"$answer$error"
fault "the address of a node changed after it had joined" 'the swarm has the address 10\.77\.10\.2 for node2, which that machine no longer has \(it has .*10\.77\.10\.32' up
check_that "a new address: within 20 s" within_ms 20000
docker_on node2 swarm leave >/dev/null && docker_on node1 node rm --force node2 >/dev/null
in_cluster up
check_that "a new address: what it said repairs it" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | tail -15 | sed 's/^/        /'
in_cluster down --leave-swarm >/dev/null
hosts_stop
