# shellcheck shell=bash disable=SC2034,SC2154
# Hosts of the lab are hosts: engines, ssh, swarm and overlay by plain docker
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
before=$(ip -o link | wc -l)
start=$(date +%s%N)
hosts_start 2 || return 1
echo "    two hosts after $((($(date +%s%N) - start) / 1000000)) ms: $(docker_on node1 version --format '{{.Server.Version}}')"
check_that "ssh without a question" same "$(ssh -o BatchMode=yes node1 hostname) $(ssh -o BatchMode=yes 10.77.10.2 hostname)" "node1 node2"
check_that "docker over ssh is the engine of that host" same "$(docker --host ssh://root@10.77.10.2 info --format '{{.Name}}')" node2
check_that "machine ids differ" test "$(ssh node1 cat /etc/machine-id)" != "$(ssh node2 cat /etc/machine-id)"
check_that "boot ids differ" test "$(ssh node1 cat /proc/sys/kernel/random/boot_id)" != "$(ssh node2 cat /proc/sys/kernel/random/boot_id)"
check_that "/sys shows the host's own network" same "$(ssh node1 ls /sys/class/net | grep -c node)" 0
check_that "hosts see each other's names" ssh node1 getent hosts node2 >/dev/null
start=$(date +%s%N)
image_on
echo "    image on both after $((($(date +%s%N) - start) / 1000000)) ms"

docker_on node1 swarm init --advertise-addr 10.77.10.1 >/dev/null
docker_on node2 swarm join --token "$(docker_on node1 swarm join-token --quiet worker)" 10.77.10.1:2377 >/dev/null
docker_on node1 network create --driver overlay --attachable ring >/dev/null
run() { docker_on "$1" run --rm --detach --hostname "$2" --name "$2" --network ring lab:fleet sleep 300 >/dev/null; }
run node1 one && run node2 two
python='import socket
l = socket.create_server(("", 9)); c = l.accept()[0]; c.sendall(b"over the overlay")'
docker_on node2 exec --detach two python3 -c "$python"
sleep 0.5
python='import socket; print(socket.create_connection(("two", 9), 5).recv(99).decode())'
check_that "TCP by name through the overlay" same "$(docker_on node1 exec one python3 -c "$python")" "over the overlay"
check_that "the overlay's MTU" same "$(docker_on node1 exec one cat /sys/class/net/eth0/mtu)" 1450

clock_off_on node2 3600
difference=$(($(ssh node2 date +%s) - $(date +%s)))
check_that "a clock that is off by an hour" test "$difference" -ge 3598 -a "$difference" -le 3602
clock_off_on node2 0
host_block node2 4789/udp
python='import socket; socket.create_connection(("two", 9), 2)'
check_that "a blocked data plane is one" eval '! docker_on node1 exec one timeout 3 python3 -c "$python" 2>/dev/null'
host_cut node2
check_that "a host that is cut off" eval '! ssh -o ConnectTimeout=1 node2 true 2>/dev/null'
host_join node2
host_reboot node2
check_that "a host that was rebooted answers" same "$(docker_on node2 info --format '{{.Name}} {{.Swarm.LocalNodeState}}')" "node2 active"
hosts_stop
check_that "no interface is left" same "$(ip -o link | wc -l)" "$before"
check_that "no process is left" test -z "$(pgrep -f "dockerd.*$LAB_GROUP-node")"
check_that "no file is left" test -z "$(ls -A "$FLEET")"
