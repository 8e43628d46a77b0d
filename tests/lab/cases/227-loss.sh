# shellcheck shell=bash disable=SC2034,SC2154
# Packets that get lost, one way or altogether; TCP, names and ports that fail in one container: named with node, direction and cause
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-loss.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
faults_start loss

VXLAN=(-p udp --dport 4789)
in_container() {
    local host=$1
    shift
    on "$host" nsenter --target "$(docker_on "$host" inspect --format '{{.State.Pid}}' "$host")" --net "$@"
}
lossy() { on "$1" iptables "$2" INPUT -i eth0 "${VXLAN[@]}" -m statistic --mode random --probability "$3" -j DROP; }
fixes() { check_that "$1" grep -qE "$2" < <(jq -r '.fix[]' <<<"$answer"); }

smoke --format json
check_that "healthy: no packet is called lost" eval '! grep -qE "are lost|twice|later one|checksum" <<<"$answer"'
check_that "healthy: the phase loss passes" same "$(jq -r '.phases[] | select(.name == "loss") | .status' <<<"$answer")" passed
echo "        ($((took / 1000)).$((took % 1000 / 100)) s) $(jq -r '.phases[] | select(.name == "loss") | .says' <<<"$answer")"

for percent in 10 20 40; do
    lossy node2 -I "0.$percent"
    smoke_names "$percent % of the packets from node1 to node2 get lost" failed loss \
        '^loss: about ([6-9]|[1-5][0-9])(\.[0-9])? % of the packets from node1 to node2 are lost'
    check_that "$percent %: within 20 s" within_ms 20000
    check_that "$percent %: no word of packet sizes or processors" eval '! grep -qE "mtu:|MTU|CPU" < <(jq -r ".says, .fix[], .remarks[]?" <<<"$answer")'
    fixes "$percent %: the counters to read, on node2 first" 'first on node2.*ip -s link'
    lossy node2 -D "0.$percent"
done
lossy node1 -I 0.20
smoke_names "20 % of the packets from node2 to node1 get lost" failed loss 'packets from node2 to node1 are lost'
fault "20 % of the packets from node2 to node1 get lost (up)" 'about [0-9.]+ % of the packets from node2 to node1 are lost' up
check_that "up: within 20 s" within_ms 20000
check_that "up: nothing is restarted" eval '! grep -q restart <<<"$error"'
lossy node1 -D 0.20
lossy node2 -I 0.03
smoke_names "3 % of the packets from node1 to node2 get lost" slow '' 'packets (to node2|from node1 to node2)'
lossy node2 -D 0.03

# One way.
on node2 iptables -I INPUT -i eth0 "${VXLAN[@]}" -j DROP
smoke_names "VXLAN from node1 to node2 is dropped by node2" failed tcp \
    '^tcp: node2 drops incoming 4789/udp \(VXLAN\) from node1: .*; from node2 to node1 packets arrive'
fixes "dropped by node2: the command, on node2" 'on node2: `iptables -L INPUT'
on node2 iptables -D INPUT -i eth0 "${VXLAN[@]}" -j DROP
on node1 iptables -I INPUT -i eth0 "${VXLAN[@]}" -j REJECT
smoke_names "VXLAN from node2 to node1 is rejected by node1" failed tcp '^tcp: 4789/udp \(VXLAN\) from node2 to node1 is rejected: 10\.77\.10\.1 answers'
on node1 iptables -D INPUT -i eth0 "${VXLAN[@]}" -j REJECT
on node1 iptables -I OUTPUT "${VXLAN[@]}" -j DROP
smoke_names "VXLAN from node1 to node2 is dropped by node1" failed tcp '^tcp: node1 sends no 4789/udp \(VXLAN\) packet to node2'
fixes "dropped by node1: the command, on node1" 'on node1: `iptables -L OUTPUT'
on node1 iptables -D OUTPUT "${VXLAN[@]}" -j DROP
if tc qdisc add dev node1 clsact && tc filter add dev node1 ingress protocol ip u32 match ip protocol 17 0xff match ip dport 4789 0xffff action drop; then
    smoke_names "VXLAN from node1 to node2 is dropped between them" failed tcp '^tcp: 4789/udp \(VXLAN\) from node1 to node2 is dropped between the machines'
else
    skip "this kernel has no filter that drops packets on a cable"
fi 2>"$LAB/tc.log"
tc qdisc del dev node1 clsact 2>/dev/null

# TCP alone, in the container of node2: ssh comes through.
for target in REJECT DROP; do
    in_container node2 iptables -I INPUT -i eth0 -p tcp ! --dport 2222 -j "$target"
    smoke_names "TCP in the container of node2: $target, except for ssh" failed tcp \
        '^tcp: TCP from node1 to the container of node2 .* is (rejected|dropped).*firewall in the network of that container'
    fixes "TCP, $target: the command, on node2" 'on node2: `nsenter --net'
    fault "TCP in the container of node2: $target, except for ssh (up)" 'TCP from node1 to the container of node2 .* is (rejected|dropped)' up
    in_container node2 iptables -F INPUT
done

# The local ports of node1's container.
in_container node1 sysctl -qw net.ipv4.ip_local_port_range="40000 40001"
in_container node1 python3 -c 'import socket, time
kept = []
for port in (40000, 40001):
    for family in (socket.AF_INET, socket.AF_INET6):
        one = socket.socket(family); one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        if family == socket.AF_INET6: one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(("", port)); one.listen(1); kept.append(one)
time.sleep(900)' &
holder=$!
wait_until 20 eval 'grep -q :40001 < <(in_container node1 ss -Hlnt)'
smoke_names "no local port is left in the container of node1" failed tcp 'container of node1 has no free local port .*40000 to 40001'
fixes "local ports: the commands" 'sysctl net.ipv4.ip_local_port_range.*ss -s'
fault "no local port is left in the container of node1 (up)" 'container of node1 has no free local port .*40000 to 40001' up
check_that "local ports: no word of sshd, no restart" eval '! grep -qE "sshd|docker restart" <<<"$answer$error"'
kill "$holder"
in_container node1 sysctl -qw net.ipv4.ip_local_port_range="32768 60999"

# The resolver of node2's container.
docker_on node1 exec -d node1 sleep 7777
docker_on node2 exec node2 sh -c 'echo nameserver 192.0.2.1 >/etc/resolv.conf'
smoke_names "the resolv.conf of the container of node2 is replaced" failed names \
    '^names: /etc/resolv.conf in the container of node2 names 192\.0\.2\.1 instead of 127\.0\.0\.11.*192\.0\.2\.1 does not answer'
fixes "resolv.conf: the command, on node2" 'on node2: `docker exec node2 cat /etc/resolv.conf`'
in_cluster up
check_that "resolv.conf: up: status 0" ended_with 0
check_that "resolv.conf: up restarts the container of node2 alone" \
    eval 'grep -q "resolver not set" <<<"$error" && grep -q "sleep 7777" < <(docker_on node1 top node1)'
echo "    up took $took ms"

# What a bad cable does to packets, other than losing them.
if [ -c /dev/net/tun ]; then
    for damage in 'corrupt 3' 'duplicate 20' 'reorder 20'; do
        # shellcheck disable=SC2086
        host_damage node2 $damage
        case $damage in
            corrupt*) pattern='node2 dropped [0-9]+ packets with a wrong checksum while node1 sent' ;;
            duplicate*) pattern='packets from node1 to node2 arrive twice' ;;
            reorder*) pattern='packets from node1 to node2 arrive after a later one' ;;
        esac
        smoke_names "$damage % of the packets from node1 to node2 (a cable of 70 MB/s)" slow '' "$pattern"
    done
    host_delay node2 0
else
    skip "this machine has no /dev/net/tun: no bad cable can be made"
fi
clean "after all faults"
in_cluster down --leave-swarm >/dev/null
hosts_stop
