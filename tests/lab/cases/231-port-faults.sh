# shellcheck shell=bash disable=SC2034,SC2154
# Ports of the overlay that are blocked in one direction or both, and a path that carries less, are named by their cause
# long
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster"
ask_for() { cluster_yaml >"$LAB/cluster/cluster.yaml"; }
faults_start ports
again() { in_cluster down --leave-swarm >/dev/null; }

# One way, and the other way.
for pair in node1:node2 node2:node1; do
    from=${pair%:*} to=${pair#*:}
    ask_for && host_block "$to" 4789/udp
    fault "4789/udp from $from to $to blocked" "$to drops incoming 4789/udp \(VXLAN\) from $from: .*; from $to to $from packets arrive" up
    host_unblock "$to" 4789/udp && again
done

# Engines that know a container late work all the same: then it is a note.
said() { jq -rs '[last | .problems[]?.says, .notes[]?] | join(" / ")' <<<"$answer"; }
for pair in node1:node2 node2:node1; do
    from=${pair%:*} to=${pair#*:}
    ask_for && host_block "$to" 7946/udp
    in_cluster up --format json
    check_that "7946/udp from $from to $to blocked: named with its direction" \
        grep -qE "$to drops incoming 7946/udp from $from, .*; from $to to $from they arrive" < <(said)
    check_that "7946/udp from $from to $to blocked: nothing says that no port is" not grep -q 'no port was blocked' < <(said)
    echo "        ($((took / 1000)).$((took % 1000 / 100)) s, status $code) $(said)" | cut -c1-400
    host_unblock "$to" 7946/udp && again
done
in_cluster up --format json
check_that "7946/udp is open again: up: status 0" ended_with 0
check_that "7946/udp is open again: up does not mention it" not grep -q 7946 < <(said)
again

ask_for && host_block node2 7946/tcp && host_block node2 7946/udp
fault "7946 blocked" '7946' up
host_unblock node2 7946/tcp && host_unblock node2 7946/udp && again

# A bridge lets the 4 bytes of a VLAN tag through on top.
ask_for && path_mtu node2 1400
fault "the way to a node takes 1400 bytes only" 'carries only 1404 bytes' up
path_mtu node2 1500 && again

hosts_stop
