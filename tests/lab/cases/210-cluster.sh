# shellcheck shell=bash disable=SC2034,SC2154
# A cluster of two engines: init, up, status, exec, ssh across, up again, down, nothing left
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# ENGINES: versions of the two, for the cases that try others than the machine's own.
WITH_IMAGE=node1 hosts_start 2 ${ENGINES:-} || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
envdoc cluster init --nodes 10.77.10.1,10.77.10.2 --image lab:fleet --name lab --gpus 0 --output "$LAB/cluster/first.yaml"
check_that "init: status 0" ended_with 0
check_that "init: both nodes" same "$(grep -c 'address: 10.77.10' "$LAB/cluster/first.yaml")" 2

in_cluster up --dry-run
check_that "up --dry-run: status 0" ended_with 0
check_that "up --dry-run: nothing is changed" same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}')" inactive
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
echo "    up after $took ms"
check_that "up: the image came from the other node" same "$(docker_on node1 image inspect --format '{{.Id}}' lab:fleet)" \
    "$(docker_on node2 image inspect --format '{{.Id}}' lab:fleet)"
if [ -n "${ENGINES:-}" ]; then
    for host in node1 node2; do
        check_that "up: $host is not checked for the first time after 10 s alone" same \
            "$(docker_on "$host" inspect --format '{{.Config.Healthcheck.StartInterval}}' "$host")" 1s
    done
fi
check_that "up: no key in what is said" eval '! grep -qE "PRIVATE KEY|SWMTKN" <<<"$answer$error"'
in_cluster status
check_that "status: status 0" ended_with 0
check_that "status: both nodes" eval 'grep -q node1 <<<"$answer" && grep -q node2 <<<"$answer"'
in_cluster exec all -- hostname
check_that "exec all: status 0" ended_with 0
check_that "exec all: the containers' names, each with its node's before it" same \
    "$(grep -cE '^(node1.*node1|node2.*node2)' <<<"$answer")" 2
in_cluster exec node2 -- sh -c 'exit 7'
check_that "exec: the exit code is kept" ended_with 7
in_cluster exec node1 -- ssh node2 'echo "$(hostname) over ssh"'
check_that "ssh from one container to the other without a question" eval 'grep -q "node2 over ssh" <<<"$answer"'
containers=$(docker_on node1 ps -q --no-trunc; docker_on node2 ps -q --no-trunc)
in_cluster up
check_that "up again: status 0" ended_with 0
check_that "up again: the same containers" same "$(docker_on node1 ps -q --no-trunc; docker_on node2 ps -q --no-trunc)" "$containers"
in_cluster up --format json
check_that "up again: nothing to change" same "$(jq -rs "last.status" <<<"$answer")" unchanged
echo "    up again after $took ms"
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
for host in node1 node2; do
    check_that "down: no container on $host" test -z "$(docker_on "$host" ps --all --quiet)"
    check_that "down: no volume on $host" test -z "$(docker_on "$host" volume ls --quiet)"
    check_that "down: no network on $host" same "$(docker_on "$host" network ls --format '{{.Name}}' | sort | xargs)" \
        "bridge docker_gwbridge host none"
    check_that "down: $host is in no swarm" same "$(docker_on "$host" info --format '{{.Swarm.LocalNodeState}}')" inactive
    check_that "down: no interface on $host" same "$(on "$host" ip -o link | grep -cE 'veth|vxlan')" 0
done
in_cluster down
check_that "down again: status 0" ended_with 0
hosts_stop
