# shellcheck shell=bash disable=SC2034,SC2154
# A packet size or a rate that is limited one way, a worker that is killed, stopped or cut off, an engine that is killed: named with node and cause
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-network.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
worker_on() { docker_on "$1" top "$1" -eo pid,args | awk '/envdoc-worker/ && !/defunct/ { newest = $1 } END { print newest }'; }
offered() { check_that "$1: what to type" grep -qE -- "$2" <<<"$answer"; }

on node2 iptables -I INPUT -i eth0 -p udp --dport 4789 -m length --length 1401:65535 -j DROP
smoke_names "packets over 1400 bytes from node1 to node2 get lost" failed mtu '^mtu: packets above 1350 bytes are lost between node1 and node2'
on node2 iptables -F INPUT

on node2 tc qdisc add dev eth0 root tbf rate 1mbit burst 64k latency 400ms
SIZES=8,64K smoke_names "1 Mbit/s from node2" slow '' 'the link from node2 to node1 carries 0\.1 MB/s'
on node2 tc qdisc del dev eth0 root

smoke_start --format json --pause all-reduce:2
smoke_reaches all-reduce 0.3
stopped=$(worker_on node2)
on node2 kill -STOP "$stopped"
smoke_ends
named "a worker is stopped" failed all-reduce '^all-reduce: node2: worker stopped responding.*node2: its worker process \(pid [0-9]+ in the container\) is stopped by a signal \(state T\)'
offered "a worker is stopped" 'envdoc cluster exec node2 -- kill -CONT [0-9]+'
on node2 kill -CONT "$stopped"
smoke_start --format json --pause all-reduce:2
smoke_reaches all-reduce 0.3
on node2 kill -KILL "$(worker_on node2)"
smoke_ends
named "a worker is killed" failed all-reduce '^all-reduce: node2: the worker exited.*node2: its worker process was killed \(exit status 137, SIGKILL\)'
smoke_start --format json --pause all-reduce:2
smoke_reaches all-reduce 0.3
host_cut node2
smoke_ends
named "a node is cut off" failed all-reduce '^all-reduce: node2: .*a new connection to the engine of node2 fails: '
host_join node2
GRACE=25 clean "stopped and cut off"
wait_until 60 eval 'docker_on node1 exec node1 getent hosts node2 >/dev/null && docker_on node2 exec node2 getent hosts node1 >/dev/null'

smoke_start --iterations 100000 --format json
smoke_reaches bandwidth 1
engine_kill_on node2
smoke_ends
named "an engine is killed" failed bandwidth '^bandwidth: node2: .*a new connection to the engine of node2 fails: no engine listens'
engine_restart_on node2
in_cluster down --leave-swarm >/dev/null
hosts_stop
