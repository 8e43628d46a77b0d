# shellcheck shell=bash disable=SC2034,SC2154
# What differs between machines, and what does not arrive between them, is found before a cluster is made
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
on node2 hostname node1
clock_off_on node2 3600
in_cluster check --bring
check_that "a clock off by an hour: status 1" ended_with 1
check_that "a clock off by an hour: by how much" grep -qE "the clock of node2 is (59|60) minutes ahead of the clock of node1" <<<"$answer"
check_that "two nodes with the same hostname" grep -q "node1 and node2 have the same host name" <<<"$answer"
check_that "all ports are open" grep -q "every machine can connect to the ports" <<<"$answer"
check_that "large packets arrive" grep -q "packets up to the interface MTU arrive between all machines" <<<"$answer"
echo "    check after $took ms"
on node2 hostname node2
clock_off_on node2 0
# A bridge lets the 4 bytes of a VLAN tag through on top.
path_mtu node2 1400
host_block node2 4789/udp
in_cluster check --bring
check_that "4789/udp blocked: that port and no other" grep -qE "cannot connect to 4789/udp .*: node1 → node2$" <<<"$answer"
check_that "a way of 1400 bytes: measured" grep -q "arrive up to 1404 bytes and larger ones are lost" <<<"$answer"
check_that "the clocks agree again" grep -q "the clocks of all machines agree" <<<"$answer"
hosts_stop
