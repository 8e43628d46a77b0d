# shellcheck shell=bash disable=SC2034,SC2154
# 50 ms of delay on the way to a node: the smoke test's sums are right, and it says that the nodes are far from each other
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-delay.md
[ -c /dev/net/tun ] || { skip "this machine has no /dev/net/tun: no cable with a delay can be made"; return 0; }
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
smoke --format json
check_that "without a delay: no word of one" eval '! grep -q "round trip" <<<"$(jq -r .says <<<"$answer")"'
host_delay node2 50
echo "    ping: $(on node1 ping -c 4 -i 0.2 -q 10.77.10.2 | tail -1)"
smoke_names "50 ms on the way to a node" slow '' 'a round trip from node[12] to node[12] takes (5[0-9]|10[0-9])\.[0-9] ms'
check_that "50 ms: what to do" grep -q 'traceroute' <<<"$answer"
echo "    link: $(jq -c '.network? // empty' <<<"$answer" | cut -c1-400)"
host_delay node2 0
smoke --format json
check_that "the delay is gone: no word of one" eval '[ "$code" -le 1 ] && ! grep -q "round trip" <<<"$(jq -r .says <<<"$answer")"'
in_cluster down --leave-swarm >/dev/null
hosts_stop
