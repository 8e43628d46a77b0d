# shellcheck shell=bash disable=SC2034,SC2154
# Faults of a cluster that has worked: engines that stop, die or come back, keys that others may read, a full disk
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=node1 hosts_start 2 || return 1
mkdir -p "$LAB/cluster"
ask_for() { cluster_yaml >"$LAB/cluster/cluster.yaml"; }
faults_start more-faults
again() { in_cluster down --leave-swarm >/dev/null; }

# Stopped when node2 is about to join.
in_the_middle() {
    local _
    for _ in $(seq 600); do
        [ "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}' 2>/dev/null)" = active ] && break
        sleep 0.1
    done
    engine_stop_on node2
}
ask_for && image_on node2
in_the_middle &
stopping=$!
fault "an engine that stops in the middle of up" 'the Docker engine on node2 (stopped responding|restarted)' up
check_that "an engine that stops in the middle of up: within 40 s" within_ms 40000
wait "$stopping"
engine_restart_on node2 && again

ask_for && in_cluster up
check_that "after that: up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
chmod 644 "$LAB/cluster/.envdoc/ssh/id_ed25519"
fault "a key that others may read, where envdoc runs" 'id_ed25519 has mode 0644' up
chmod 600 "$LAB/cluster/.envdoc/ssh/id_ed25519"
docker_on node1 exec node1 chmod 644 /run/envdoc/id_ed25519
fault "a key that others may read, in a container" 'container of node1 rejects its private key' up
docker_on node1 exec node1 chmod 600 /run/envdoc/id_ed25519
in_cluster up --format json
check_that "the modes are right again: up: nothing to change" same "$(jq -r .status <<<"$answer")" unchanged
check_that "up --format json: the report alone is on standard output" same "$(jq -s length <<<"$answer")" 1

engine_kill_on node2
sleep 1
fault "an engine that was killed (status)" '10.77.10.2.*no engine listens' status
in_cluster exec all -- hostname
check_that "an engine that was killed: exec says so, and runs on the other" eval 'ended_with 255 && grep -q "node1" <<<"$answer" && grep -q "node2 .*no engine listens" <<<"$error"'
fault "an engine that was killed (up)" '10.77.10.2.*no engine listens' up

# back NAME: the container of node2 comes back by itself, as its restart policy says. After a reboot the engine tries that once, for 20 s,
# and gives up where the swarm does not give it the network by then: envdoc names that, and its `up` goes on.
back() {
    local _ started=$SECONDS
    for _ in $(seq 70); do grep -q '(healthy)' < <(docker_on node2 ps --format '{{.Status}}') && break; sleep 0.5; done
    echo "    $1: $((SECONDS - started)) s later: $(docker_on node2 ps --all --format '{{.Names}} {{.Status}}')"
    in_cluster status
    if [ "$code" -ne 0 ]; then
        check_that "$1: why its container is not back, and what to do" \
            grep -qE 'node2:.*attaching to network failed.*start it: `envdoc cluster up`' <<<"$answer"
        in_cluster up
        if [ "$code" -ne 0 ]; then
            # Seen once, before `up` recreated such a container.
            echo "    up: $(printf '%s\n' "$answer" "$error" | grep -E '✗|→' | cut -c1-400)"
            again && in_cluster up
        fi
        in_cluster status
    fi
    check_that "$1: its container is back" ended_with 0
}
engine_restart_on node2
back "an engine that was killed and started again"
host_reboot node2
started=$SECONDS
back "a node that was rebooted"
for _ in $(seq 5); do
    in_cluster exec node1 -- ssh node2 hostname
    [ "$code" -eq 0 ] && break
    echo "    $((SECONDS - started)) s: $(tail -1 <<<"$answer$error")"
    docker_on node1 exec node1 getent hosts node2 node1 | sed 's/^/        node1 sees: /'
    docker_on node2 exec node2 cat /etc/hosts | tail -1 | sed 's/^/        node2 is: /'
    sleep 1
done
check_that "a node that was rebooted: ssh across works again" ended_with 0
echo "    ssh across $((SECONDS - started)) s after its engine was back"
in_cluster up
check_that "a node that was rebooted: up again: status 0" ended_with 0

# After a reboot the engine tries once to start its container, and gives up where the swarm does not give it the network within 20 s.
host_block node1 2377/tcp
host_reboot node2
for _ in $(seq 120); do [ -n "$(docker_on node2 inspect --format '{{.State.Error}}' node2)" ] && break; sleep 0.5; done
host_unblock node1 2377/tcp
in_cluster status
check_that "a container that its engine gave up: status says why, and what to do" \
    grep -qE 'not running: (attaching to network failed|Could not attach to network).*start it: `envdoc cluster up`' <<<"$answer"
grep -F 'not running' <<<"$answer" | sed 's/^/        /'
in_cluster up
check_that "a container that its engine gave up: up: status 0" ended_with 0
check_that "a container that its engine gave up: up says what it did" grep -qE 'node2.*(started again|created from lab:fleet and started)' <<<"$answer$error"
grep -E 'node2.*(started|restarted|created)' <<<"$answer$error" | sed 's/^/        /'
echo "    up took $took ms"
in_cluster exec node1 -- ssh node2 hostname
check_that "a container that its engine gave up: ssh across works again" ended_with 0
in_cluster up --format json
check_that "a container that its engine gave up: up again: nothing to change" same "$(jq -rs 'last.status' <<<"$answer")" unchanged
again

ask_for && disk_small_on node2 100m && disk_full_on node2
fault "the disk of a node is full" 'node2.*(disk|space|room)' up
again
hosts_stop
