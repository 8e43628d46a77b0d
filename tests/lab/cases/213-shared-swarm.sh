# shellcheck shell=bash disable=SC2034,SC2154
# down --leave-swarm leaves a swarm alone that envdoc did not create, or that something else uses
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" "$LAB/second" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_second() { local verb=$1; shift; LIMIT=150 envdoc cluster "$verb" --file "$LAB/second/cluster.yaml" "$@"; }
swarm_of() { docker_on "$1" info --format '{{.Swarm.LocalNodeState}}'; }
shown() { [ "$code" -eq "$1" ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'; }

# Somebody's swarm with a service, a secret, a config and a network, all of them on its only manager.
docker_on node1 swarm init --advertise-addr 10.77.10.1 >/dev/null
docker_on node1 service create --quiet --detach --name svc --endpoint-mode dnsrr --constraint node.role==manager lab:fleet sleep 3600 >/dev/null
echo value | docker_on node1 secret create token - >/dev/null
echo value | docker_on node1 config create conf - >/dev/null
docker_on node1 network create --driver overlay somebodys >/dev/null
for _ in $(seq 100); do [ -n "$(docker_on node1 ps --quiet --filter name=svc)" ] && break; sleep 0.2; done
task=$(docker_on node1 ps --quiet --no-trunc --filter name=svc)
in_cluster up
check_that "somebody's swarm: up: status 0" ended_with 0
shown 0
check_that "somebody's swarm: up says whose it is" grep -q 'envdoc did not create' <<<"$answer$error"
in_cluster down --leave-swarm
check_that "somebody's swarm: down --leave-swarm: status 1" ended_with 1
for name in 'services: svc' 'secrets: token' 'configs: conf' 'networks: somebodys' 'did not create the swarm of node1'; do
    check_that "somebody's swarm: down names $name" grep -q "$name" <<<"$answer"
done
check_that "somebody's swarm: nothing tells to end it by force" eval '! grep -q -- "--force" <<<"$answer$error"'
check_that "somebody's swarm: its container runs on" same "$(docker_on node1 ps --quiet --no-trunc --filter name=svc)" "$task"
check_that "somebody's swarm: its secret is there" same "$(docker_on node1 secret ls --format '{{.Name}}')" token
check_that "somebody's swarm: its network is there" same "$(docker_on node1 network ls --filter name=somebodys --format '{{.Name}}')" somebodys
check_that "somebody's swarm: both are in it" same "$(swarm_of node1) $(swarm_of node2)" "active active"
check_that "the cluster itself is gone" test -z "$(docker_on node1 ps --all --quiet --filter label=envdoc.cluster)"
docker_on node2 swarm leave >/dev/null
docker_on node1 swarm leave --force >/dev/null

# Two clusters on one pair of machines: the second one uses the swarm that the first one created.
in_cluster up
check_that "two clusters: first up: status 0" ended_with 0
shown 0
cluster_yaml | sed 's/^name: lab/name: second/; s/10.77.10.\([0-9]\), gpus/10.77.10.\1, name: other\1, gpus/' >"$LAB/second/cluster.yaml"
in_second up
check_that "two clusters: second up: status 0" ended_with 0
shown 0
in_cluster down --leave-swarm
check_that "two clusters: down --leave-swarm of the first: status 1" ended_with 1
check_that "two clusters: it names the second" grep -q 'second-net (envdoc cluster second)' <<<"$answer"
in_second status
check_that "two clusters: the second is up" ended_with 0
shown 0
in_second exec other1 -- ssh other2 hostname
check_that "two clusters: the second works" ended_with 0
in_second down --leave-swarm
check_that "the last one: down --leave-swarm: status 0" ended_with 0
shown 0
check_that "the last one: no node is in a swarm" same "$(swarm_of node1) $(swarm_of node2)" "inactive inactive"

# A manager that cannot start looks like a failed join: `up` of a cluster in which it is a worker must not clear it.
docker_on node2 swarm init --advertise-addr 10.77.10.2 >/dev/null
engine_stop_on node2
on node2 python3 -c 'import socket, time; l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind(("", 2377)); l.listen(); open("/run/listener.pid", "w").write(str(__import__("os").getpid())); time.sleep(600)' &
for _ in $(seq 50); do [ -e "$FLEET/node2/run/listener.pid" ] && break; sleep 0.1; done
engine_restart_on node2
for _ in $(seq 100); do [ "$(swarm_of node2)" = error ] && break; sleep 0.2; done
echo "    $(docker_on node2 info --format '{{json .Swarm}}' | cut -c1-300)"
check_that "a manager that cannot start: its engine reports an error" same "$(swarm_of node2)" error
in_cluster up
check_that "a manager that cannot start: up: status 1" ended_with 1
on node2 sh -c 'kill $(cat /run/listener.pid)'
sleep 1
engine_restart_on node2
for _ in $(seq 100); do [ "$(swarm_of node2)" = active ] && break; sleep 0.2; done
check_that "a manager that cannot start: its swarm is there again" same "$(swarm_of node2)" active
hosts_stop
