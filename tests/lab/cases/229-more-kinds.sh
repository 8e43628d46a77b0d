# shellcheck shell=bash disable=SC2034,SC2154
# A container that is paused or whose interface is down, an engine that hangs: named with the node
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && faults_start kinds
TABLE=$LAB_KEPT/smoke-faults-kinds.md
: >"$TABLE"
offered() { check_that "$1: what to type" grep -qF -- "$2" <<<"$answer"; }

cluster_yaml 'network: {subnet: 172.17.0.0/16}' >"$LAB/cluster/cluster.yaml"
fault "the overlay's subnet is docker0's" 'subnet 172\.17\.0\.0/16 overlaps a network that node[12] already uses: .*docker0' up
cluster_yaml >"$LAB/cluster/cluster.yaml"
docker_on node2 create --name node2 lab:fleet sleep 1 >/dev/null
fault "a container of that name exists already" 'a container node2 already exists on node2 and does not belong to this cluster' up
check_that "a container of that name: it is left" same "$(docker_on node2 ps --all --quiet --filter label=envdoc.cluster)" ''
docker_on node2 rm --force node2 >/dev/null
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | tail -15 | sed 's/^/        /'

# runc gives up freezing a container of cgroup v1 on a busy machine ("unable to freeze").
for _ in 1 2 3 4 5; do docker_on node2 pause node2 >/dev/null 2>&1 && break; done
check_that "docker pause worked" same "$(docker_on node2 inspect --format '{{.State.Status}}' node2)" paused
fault "a paused container (status)" '^the container is paused$' status
offered "a paused container (status)" 'docker unpause node2'
smoke_names "a paused container" failed containers 'node2: its container node2 is paused'
offered "a paused container (smoke)" 'docker unpause node2'
fault "a paused container (up)" '^the container of node2 is paused$' up
check_that "a paused container: up leaves it paused" same "$(docker_on node2 inspect --format '{{.State.Status}}' node2)" paused
docker_on node2 unpause node2 >/dev/null
# The engine counts the checks that a paused container could not answer, until the next one passes.
health() { docker_on node2 inspect --format '{{.State.Health.Status}}' node2; }
wait_until 60 eval '[ "$(health)" = healthy ]'
in_cluster up
check_that "unpaused: up: status 0" ended_with 0

# Packets for the others leave by the default route then, without VXLAN: no engine lost an entry, and no firewall drops them.
before=$(docker_on node1 ps --quiet --no-trunc)
on node2 nsenter --net --target "$(docker_on node2 inspect --format '{{.State.Pid}}' node2)" ip link set eth0 down
down='the container of node2 sends packets to node1 \(10\.0\.1\.[0-9]+\) over its default route instead of the overlay network'
smoke_names "the overlay's interface in a container is down" failed tcp "$down"
fault "the overlay's interface in a container is down (up)" "$down" up
offered "an interface that is down" 'docker restart node2'
check_that "an interface that is down: the other node's container is not touched" same "$(docker_on node1 ps --quiet --no-trunc)" "$before"
docker_on node2 restart node2 >/dev/null
in_cluster up
check_that "an interface that is down: what was said repairs it" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | tail -15 | sed 's/^/        /'

on node2 sh -c 'kill -STOP $(cat /run/docker.pid)'
smoke_names "an engine that hangs" failed containers 'node2: the engine at ssh://10\.77\.10\.2 cannot be used: SSH connected, but the engine at .* did not answer'
on node2 sh -c 'kill -CONT $(cat /run/docker.pid)'
in_cluster down --leave-swarm >/dev/null
hosts_stop
