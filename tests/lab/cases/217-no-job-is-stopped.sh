# shellcheck shell=bash disable=SC2034,SC2154
# up repairs only what is broken, and stops nothing that it did not start without --restart; status names what up would change
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
shown() { [ "$code" -eq "$1" ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'; }
# job HOST SECONDS: a process that envdoc did not start. running HOST SECONDS: whether it is there.
job() { docker_on "$1" exec --detach "$1" sleep "$2"; }
running() { grep -q "sleep $2" < <(docker_on "$1" exec "$1" sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "'); }
no_name_server() { docker_on "$1" exec "$1" sh -c 'echo nameserver 192.0.2.1 >/etc/resolv.conf'; }
containers() { docker_on node1 ps -q --no-trunc; docker_on node2 ps -q --no-trunc; }

in_cluster up
check_that "up: status 0" ended_with 0
shown 0
in_cluster status
check_that "status: status 0" ended_with 0
shown 0

# A broken resolver on node2, a job on node1.
job node1 7777 && no_name_server node2
in_cluster up
check_that "a broken resolver: up: status 0" ended_with 0
shown 0
check_that "a broken resolver: node2 alone was restarted" same \
    "$(grep -cE '(node1|node2).*restarted to set it up' <<<"$error") $(grep -c 'node2.*restarted to set it up' <<<"$error")" "1 1"
check_that "a broken resolver: the job on node1 runs" running node1 7777
in_cluster exec node2 -- getent hosts node1
check_that "a broken resolver: it is repaired" ended_with 0

# The same with a job on node2 too.
job node2 8888 && no_name_server node2
in_cluster up
check_that "a broken resolver and a job: up: status 1" ended_with 1
check_that "a broken resolver and a job: named by its cause" grep -q 'resolv.conf in the container of node2 names 192.0.2.1 instead of 127.0.0.11' <<<"$answer"
check_that "a broken resolver and a job: what would stop" grep -q 'sleep 8888' <<<"$answer"
check_that "a broken resolver and a job: how to allow it" grep -q 'up --restart' <<<"$answer"
check_that "a broken resolver and a job: no engine is to be restarted" eval '! grep -q "restart docker" <<<"$answer"'
check_that "a broken resolver and a job: both jobs run" eval 'running node1 7777 && running node2 8888'
rewrite=$(sed -n 's/.*without a restart: `envdoc cluster \(.*\)`$/\1/p' <<<"$answer" | head -1)
eval "in_cluster $rewrite"
check_that "a broken resolver and a job: the command that was given repairs it" ended_with 0
shown 0
in_cluster up --format json
check_that "a broken resolver and a job: up: nothing to change" same "$(jq -rs 'last.status' <<<"$answer")" unchanged
no_name_server node2
in_cluster up --restart
check_that "a broken resolver: up --restart: status 0" ended_with 0
shown 0
check_that "a broken resolver: up --restart: only node2 was restarted" eval 'running node1 7777 && ! running node2 8888'

# cluster.yaml changes while jobs run: one by docker exec, one that a login left behind.
in_cluster exec node2 -- ssh node1 'nohup sleep 9999 >/dev/null 2>&1 &'
before=$(containers)
cluster_yaml 'environment: {A: b}' >"$LAB/cluster/cluster.yaml"
in_cluster status
check_that "a changed environment: status: status 1" ended_with 1
check_that "a changed environment: status names it" grep -q 'node1:.*changed since the container was created: environment' <<<"$answer"
in_cluster up --dry-run
check_that "a changed environment: the plan says what would stop" eval 'grep -q "stops.*sleep 7777.*sleep 9999\|stops.*sleep 9999.*sleep 7777" <<<"$answer"'
check_that "a changed environment: the plan says what is needed" grep -q 'refuses this without --restart' <<<"$answer"
in_cluster up
check_that "a changed environment: up: status 1" ended_with 1
check_that "a changed environment: up names the jobs" eval 'grep -q "sleep 7777" <<<"$answer" && grep -q "sleep 9999" <<<"$answer"'
check_that "a changed environment: no container was touched" same "$(containers)" "$before"
in_cluster up --restart
check_that "a changed environment: up --restart: status 0" ended_with 0
shown 0
in_cluster status
check_that "a changed environment: status 0 then" ended_with 0
shown 0

in_cluster rotate-keys
in_cluster status
check_that "rotated keys: status names them" eval 'ended_with 1 && grep -q "changed since the container was created: SSH keys" <<<"$answer"'
in_cluster up
check_that "rotated keys: up: status 0" ended_with 0
shown 0
(cd "$LAB" && cd cluster && envdoc cluster status && [ "$code" -eq 0 ])
check_that "status from another folder: the same" same $? 0

# Nothing can be run in a container any more.
on node2 sh -c 'kill -STOP $(cat /run/docker/containerd/containerd.pid)'
in_cluster status
check_that "a containerd that hangs: status: status 1" ended_with 1
check_that "a containerd that hangs: status names the node" grep -qE 'node2:.*(cannot run a program|answer)' <<<"$answer"
echo "    status after $took ms: $(grep -F '✗' <<<"$answer" | head -2)"
on node2 sh -c 'kill -KILL $(cat /run/docker/containerd/containerd.pid)'
for _ in 1 2 3 4 5; do
    in_cluster status
    grep -qE 'node2:.*cannot run a program' <<<"$answer" && break
done
echo "    killed: $(grep -F '✗' <<<"$answer" | head -2)"
in_cluster down --leave-swarm
echo "    down: status $code"
hosts_stop
