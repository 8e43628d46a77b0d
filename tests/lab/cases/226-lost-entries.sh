# shellcheck shell=bash disable=SC2034,SC2154
# An engine that lost the overlay's entry of another one's container: smoke distinguishes it from a blocked port, up repairs it
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB/lost.md
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

# in_overlay HOST COMMAND…: in the namespace where its engine keeps the overlay's entries. in_container HOST COMMAND…: in its container's
# network, with the host's programs and rights.
in_overlay() {
    local host=$1 id
    shift
    id=$(docker_on "$host" network inspect --format '{{.Id}}' lab-net)
    on "$host" nsenter --net="/run/docker/netns/1-${id:0:10}" "$@"
}
in_container() {
    local host=$1
    shift
    on "$host" nsenter --target "$(docker_on "$host" inspect --format '{{.State.Pid}}' "$host")" --net "$@"
}
overlay_of() { docker_on "$1" inspect --format "{{(index .NetworkSettings.Networks \"lab-net\").$2}}" "$1"; }
device() { in_overlay "$1" ip -o link show type vxlan | sed 's/^[0-9]*: \([^:@]*\).*/\1/'; }
# lose HOST OTHER: the engine of HOST has no entry of the container of OTHER any more, and its container has forgotten the address.
lose() {
    in_overlay "$1" ip neigh del "$(overlay_of "$2" IPAddress)" dev "$(device "$1")"
    in_overlay "$1" bridge fdb del "$(overlay_of "$2" MacAddress)" dev "$(device "$1")" dst "$(host_address "$2")"
    in_container "$1" ip neigh flush all
}
repaired() {
    in_cluster up
    check_that "$1: up: status 0" ended_with 0
    check_that "$1: up says what it did" grep -q 'restarted to reattach it to the network' <<<"$error"
    check_that "$1: up blames no port" eval '! grep -qE "is blocked in" <<<"$answer$error"'
    [ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
    echo "    repaired after $took ms"
    in_cluster up --format json
    check_that "$1: up again: nothing to change" same "$(jq -rs 'last.status' <<<"$answer")" unchanged
    in_cluster exec all -- sh -c 'for other in node1 node2; do ssh $other hostname; done | xargs'
    check_that "$1: ssh both ways" same "$(grep -c 'node1 node2$' <<<"$answer")" 2
    smoke
    # A busy machine's bandwidth is its own matter.
    check_that "$1: no phase of the smoke test fails" eval '! grep -q failed <<<"$answer" && grep -qE "^(ok|slow):" <<<"$answer"'
}

lose node1 node2
smoke_names "an engine lost an entry" failed tcp '^tcp: the Docker engine on node1 has no overlay entry for the container of node2'
check_that "an engine lost an entry: smoke blames no port" eval '! grep -q "is blocked" <<<"$answer"'
repaired "an engine lost an entry"
lose node2 node1
smoke_names "the other engine lost one" failed tcp '^tcp: the Docker engine on node2 has no overlay entry for the container of node1'
repaired "the other engine lost one"

# The entry says another machine, which does not exist: both ways nothing arrives (VXLAN drops what comes from another machine than its
# entry says), as if 4789/udp were blocked. What shows it is whom node1 asks for.
in_overlay node1 bridge fdb replace "$(overlay_of node2 MacAddress)" dev "$(device node1)" dst 10.77.10.99
in_overlay node1 bridge fdb del "$(overlay_of node2 MacAddress)" dev "$(device node1)" dst 10.77.10.2 2>/dev/null
smoke_names "an entry that names the wrong machine" failed tcp '^tcp: node1 sends no 4789/udp .* asks for the hardware address of 10.77.10.99 .*Likely cause: the Docker engine on node1 has a wrong overlay entry for the container of node2'
repaired "an entry that names the wrong machine"

# One way alone: a connection the other way round shows that no port is blocked.
to=$(overlay_of node2 IPAddress)
in_container node2 iptables -I INPUT -d "$to" -p tcp --syn -j DROP
in_container node2 iptables -I INPUT -d "$to" -p udp -m conntrack --ctstate NEW -j DROP
smoke_names "one way alone" failed tcp '^tcp: the network of the container of node2 drops packets from node1: .*a connection from node2 to node1 works'
in_container node2 iptables -F INPUT

# node2 comes while the gossip to node1 does not pass.
host_block node1 7946/udp && host_block node1 7946/tcp
docker_on node2 restart --time 1 node2 >/dev/null
sleep 3
host_unblock node1 7946/udp && host_unblock node1 7946/tcp
in_cluster up
check_that "the gossip was cut for a while: up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
echo "    $took ms; $(grep -c 'restarted to reattach it to the network' <<<"$error") restarted"
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
hosts_stop
