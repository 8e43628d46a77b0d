# shellcheck shell=bash disable=SC2034,SC2154
# A node that is removed from cluster.yaml is named by status, and cleaned up by up and down
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 3 || return 1
mkdir -p "$LAB/cluster"
three() { cluster_yaml >"$LAB/cluster/cluster.yaml"; }
two() { cluster_yaml | grep -v 10.77.10.3 >"$LAB/cluster/cluster.yaml"; }
shown() { [ "$code" -eq "$1" ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'; }
left_on() { docker_on "$1" ps --all --quiet; docker_on "$1" volume ls --quiet; docker_on "$1" info --format '{{.Swarm.LocalNodeState}}'; }
three && in_cluster up
check_that "up: status 0" ended_with 0
shown 0
two
docker_on node3 exec --detach node3 sleep 7777
in_cluster status
check_that "removed: status: status 1, and it is named" eval 'ended_with 1 && grep -q "node3: no longer in cluster.yaml, but its container is running" <<<"$answer"'
in_cluster up --dry-run
check_that "removed: the plan says what would stop" grep -q 'node3.*remove its container.*stops sleep 7777' <<<"$answer"
in_cluster up
check_that "removed: up does not stop the job" eval 'ended_with 1 && grep -q "sleep 7777" <<<"$answer" && [ -n "$(docker_on node3 ps --quiet)" ]'
in_cluster up --restart
check_that "removed: up --restart: status 0" ended_with 0
shown 0
check_that "removed: nothing is left on it" same "$(left_on node3)" inactive
check_that "removed: the manager lists two" same "$(docker_on node1 node ls --quiet | wc -l)" 2
check_that "removed: its key is gone" test ! -e "$LAB/cluster/.envdoc/ssh/host_node3_ed25519"
in_cluster status
check_that "removed: status 0 then" ended_with 0
shown 0

# Removed, and down instead of up.
three && in_cluster up
check_that "back again: up: status 0" ended_with 0
shown 0
two && in_cluster down --leave-swarm
check_that "removed: down: status 0" ended_with 0
shown 0
for host in node1 node2 node3; do check_that "removed: down: nothing on $host" same "$(left_on "$host")" inactive; done

# Removed because it is dead.
three && in_cluster up
check_that "the third time: up: status 0" ended_with 0
shown 0
host_cut node3 && two
in_cluster status
check_that "removed and dead: status 1, and it is named" eval 'ended_with 1 && grep -q "node3: no longer in cluster.yaml; cannot connect to clean it up" <<<"$answer"'
in_cluster up
check_that "removed and dead: up: status 0" ended_with 0
shown 0
check_that "removed and dead: up names it" grep -q 'node3 is no longer in cluster.yaml, but cannot be cleaned up' <<<"$answer"
in_cluster status
check_that "removed and dead: status names it still" eval 'ended_with 1 && grep -q node3 <<<"$answer"'
in_cluster up --forget node3
check_that "forgotten: up: status 0" ended_with 0
shown 0
in_cluster status
check_that "forgotten: status: status 0" ended_with 0
shown 0

# The same machine under another name.
cluster_yaml | grep -v 10.77.10.3 | sed 's/10.77.10.2, gpus/10.77.10.2, name: gpu2, gpus/' >"$LAB/cluster/cluster.yaml"
in_cluster status
check_that "renamed: status names the old container" grep -q 'the container node2 of this cluster is not in cluster.yaml' <<<"$answer"
in_cluster up
check_that "renamed: up: status 0" ended_with 0
shown 0
check_that "renamed: the old container is gone" same "$(docker_on node2 ps --all --format '{{.Names}}')" gpu2
in_cluster down --leave-swarm
check_that "at the end: down: status 0" ended_with 0
shown 0
hosts_stop
