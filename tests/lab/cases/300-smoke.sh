# shellcheck shell=bash disable=SC2034,SC2154
# The smoke test across two engines: a healthy run, and what breaks in each of its phases
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"

smoke --format json
named "no container yet" failed containers 'no container of this cluster'
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

smoke
printf '%s\n' "$answer" | sed 's/^/    /'
check_that "healthy: status 0" ended_with 0
check_that "healthy: every phase" eval 'for phase in containers worker shm interface names tcp mtu ssh rendezvous all-reduce path bandwidth; do grep -q " $phase " <<<"$answer" || exit 1; done'
echo "    whole run: $took ms"
clean healthy
smoke --format json --svg "$LAB/smoke.svg" --html "$LAB/smoke.html"
check_that "healthy, JSON: ok" same "$(jq -r .verdict <<<"$answer")" ok
check_that "a plot and a page" eval 'grep -q polyline "$LAB/smoke.svg" && grep -q "</html>" "$LAB/smoke.html"'
cp "$LAB/smoke.html" "$LAB_KEPT/smoke.html"

smoke_start --iterations 100000
smoke_reaches bandwidth 0.5
kill -INT "$smoking"
smoke_ends
check_that "Ctrl-C: status 130" ended_with 130
check_that "Ctrl-C: within 10 s" within_ms 10000
clean "Ctrl-C"

host_block node2 4789/udp
smoke_names "4789/udp blocked" failed tcp '4789/udp'
host_unblock node2 4789/udp
path_mtu node2 1400
smoke_names "the way to a node takes 1400 bytes only" failed mtu 'carries only 1404 bytes'
path_mtu node2 1500

sshd=$(docker_on node2 top node2 -eo pid,args | awk '/sshd/ { print $1; exit }')
on node2 kill -STOP "$sshd"
smoke_names "sshd of a node hangs" failed ssh 'ssh from node1 to node2 fails: no answer within [0-9]+ s; the sshd of node2 \(pid [0-9]+ in the container\) is stopped by a signal'
check_that "sshd of a node hangs: how to continue it" eval 'grep -q "cluster exec node2 -- kill -CONT" < <(jq -r ".fix[]" <<<"$answer")'
on node2 kill -CONT "$sshd"

on node2 iptables -I INPUT -i eth0 -p udp --dport 4789 -m statistic --mode random --probability 0.01 -j DROP
smoke_names "1 % of the packets to a node get lost" slow '' 'retransmitted .* of its packets'
on node2 iptables -D INPUT -i eth0 -p udp --dport 4789 -m statistic --mode random --probability 0.01 -j DROP
smoke_start --format json
smoke_reaches shm 0
tc qdisc add dev node2 root tbf rate 10mbit burst 64k latency 100ms
smoke_ends
named "10 Mbit/s on the way to a node" slow '' 'the link from node1 to node2 carries [01]\.'
tc qdisc del dev node2 root
smoke_start --iterations 100000 --format json
smoke_reaches bandwidth 1
worker=$(docker_on node2 top node2 -eo pid,args | awk '/envdoc-worker/ && !/defunct/ { print $1; exit }')
on node2 kill -KILL "$worker"
smoke_ends
named "a rank is killed in the sweep" failed bandwidth 'node2.*exited'
clean "a rank is killed"
smoke_start --iterations 100000 --format json
smoke_reaches bandwidth 1
host_cut node2
smoke_ends
named "a node is cut off in the sweep" failed bandwidth 'node2'
host_join node2
GRACE=25 clean "a node is cut off"

docker_on node2 network disconnect lab-net node2
smoke_names "a container without the network" failed containers 'node2.*not in the network lab-net'
docker_on node2 network connect lab-net node2
docker_on node2 stop --time 1 node2 >/dev/null
smoke_names "a container that does not run" failed containers 'node2.*does not run: it exited'
in_cluster down --leave-swarm >/dev/null
hosts_stop
