# shellcheck shell=bash disable=SC2034,SC2154
# Two runs of up at once: the second waits, or says who holds the lock; a killed run's lock does not stay
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=node1 hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
shown() { [ "$code" -eq "$1" ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'; }
locks() { docker_on node1 volume ls --quiet --filter label=envdoc.lock | wc -l; }
locked() { for _ in $(seq 100); do [ "$(locks)" -gt 0 ] && return; sleep 0.05; done; return 1; }
first() { timeout 250 /run/lab/envdoc cluster up --file "$LAB/cluster/cluster.yaml" >"$LAB/first.out" 2>"$LAB/first.err"; }

first &
running=$!
check_that "a lock is there while up runs" locked
in_cluster status
check_that "status says who holds it" grep -q 'locked: `envdoc cluster up` on ' <<<"$answer"
in_cluster up --lock-timeout 1
check_that "no time to wait: status 1" ended_with 1
check_that "no time to wait: it says who holds it" grep -q 'envdoc cluster up. on .* is changing this cluster' <<<"$answer"
check_that "no time to wait: nothing tells to leave a swarm" eval '! grep -q "swarm leave" <<<"$answer$error"'
LIMIT=400 in_cluster up --lock-timeout 250 --format json
check_that "with time to wait: status 0" ended_with 0
shown 0
check_that "with time to wait: it waited" grep -q 'waiting for .*envdoc cluster up' <<<"$error"
check_that "with time to wait: the first run did everything" same "$(jq -rs 'last.status' <<<"$answer")" unchanged
wait "$running"
check_that "the first run: status 0" same $? 0
check_that "no lock is left" same "$(locks)" 0

# Killed: on the same machine the next run sees that its process is gone; Ctrl-C takes the lock away at once.
in_cluster rotate-keys
first &
running=$!
locked && kill -KILL "$(pgrep -f "^/run/lab/envdoc cluster up --file $LAB" | tail -1)"
wait "$running"
check_that "killed: its lock is left" eval '[ "$(locks)" -gt 0 ]'
in_cluster up
check_that "killed: the next up: status 0" ended_with 0
shown 0
check_that "killed: the next up did not wait" eval '! grep -q "waiting for" <<<"$error"'
check_that "killed: no lock is left then" same "$(locks)" 0
in_cluster rotate-keys
first &
running=$!
locked && kill -INT "$(pgrep -f "^/run/lab/envdoc cluster up --file $LAB" | tail -1)"
wait "$running"
check_that "interrupted: no lock is left" same "$(locks)" 0

# A job and a run that changes the cluster exclude each other; jobs do not. lock_of ID COMMAND ACCESS: of a run on another machine.
lock_of() {
    docker_on node1 volume create --label envdoc.lock=lab --label "envdoc.lock.holder={\"id\":\"$1\",\"command\":\"$2\",\"access\":\"$3\",\"hostname\":\"ops2\",\"process\":7,\"since\":\"2026-01-01T00:00:00Z\"}" "lab-lock-$1-0" >/dev/null
}
in_cluster up
check_that "before the jobs: up: status 0" ended_with 0
shown 0
timeout 250 /run/lab/envdoc cluster exec --file "$LAB/cluster/cluster.yaml" node2 -- sh -c 'until [ -e /tmp/go ]; do sleep 0.2; done' >"$LAB/job.out" 2>&1 &
running=$!
check_that "a job takes a lock" locked
in_cluster down --lock-timeout 1
check_that "a job: down: status 1" ended_with 1
check_that "a job: down says which" grep -q 'envdoc cluster exec. on .* is using this cluster' <<<"$answer"
check_that "a job: its container runs on" same "$(docker_on node2 inspect --format '{{.State.Running}}' node2)" true
in_cluster status
check_that "a job: status names it, and the cluster is up" eval 'ended_with 0 && grep -q "in use: .envdoc cluster exec" <<<"$answer"'
in_cluster exec --lock-timeout 1 all -- hostname
check_that "a job: another job does not wait" ended_with 0
in_cluster exec --lock-timeout 1 node2 -- touch /tmp/go
wait "$running"
check_that "a job: it ended by itself" same $? 0
check_that "a job: no lock is left" same "$(locks)" 0
lock_of m1 smoke measure
envdoc smoke --file "$LAB/cluster/cluster.yaml" --lock-timeout 1
check_that "two smokes: the second waits" eval 'ended_with 2 && grep -q "envdoc smoke. on ops2 .* is using this cluster" <<<"$error"'
in_cluster exec --lock-timeout 1 node2 -- true
check_that "a smoke: a job does not wait" ended_with 0
docker_on node1 volume rm lab-lock-m1-0 >/dev/null
lock_of u1 up change
in_cluster launch --lock-timeout 1 --launcher torchrun -- /nothing.py
check_that "up on another machine: launch waits" eval 'ended_with 2 && grep -q "envdoc cluster up. on ops2 .* is changing this cluster" <<<"$error"'
in_cluster exec --lock-timeout 1 node2 -- true
check_that "up on another machine: exec waits" eval 'ended_with 2 && grep -q "is changing this cluster" <<<"$error"'
docker_on node1 volume rm lab-lock-u1-0 >/dev/null

# The new record of the nodes is there before the former one goes.
docker_on node1 volume create --label envdoc.cluster=lab --label envdoc.nodes=[] --label envdoc.nodes.number=5 lab-nodes-5 >/dev/null
from=$(date +%s)
in_cluster up
check_that "a record to write: up: status 0" ended_with 0
shown 0
events=$(docker_on node1 events --since "$from" --until "$(($(date +%s) + 1))" --filter type=volume --format '{{.Action}} {{.Actor.ID}}' | grep -E 'lab-nodes' | tr '\n' ' ')
check_that "a record to write: the new one first" grep -qE 'create lab-nodes-6 .*destroy lab-nodes-5' <<<"$events"
echo "        $events"

cluster_yaml 'secrets: [{name: token, variable: ENVDOC_LAB_NO_SUCH_VARIABLE}]' >"$LAB/cluster/cluster.yaml"
in_cluster up --dry-run
check_that "a secret that cannot be read: the dry run says so" grep -q 'secrets were not compared.*ENVDOC_LAB_NO_SUCH_VARIABLE is not set' <(tr '\n' ' ' <<<"$answer")
cluster_yaml >"$LAB/cluster/cluster.yaml"

# What a container that does not run says of itself.
docker_on node2 stop --time 1 node2 >/dev/null
in_cluster exec node2 -- true
check_that "exec in a stopped container: node, container and state" grep -qE 'the container node2 on node2 exited with status [0-9]+' <<<"$error"
docker_on node2 rm node2 >/dev/null
docker_on node2 create --name node2 --ulimit nofile=99999999 lab:fleet true >/dev/null
docker_on node2 start node2 2>/dev/null
envdoc smoke --file "$LAB/cluster/cluster.yaml"
check_that "smoke, a container that could not start: status 1" ended_with 1
check_that "smoke, a container that could not start: the engine's reason" grep -qE 'was never started, because the engine could not start it: .*rlimit' <(tr '\n' ' ' <<<"$answer")
check_that "smoke, a container that could not start: no log is to be read" eval '! grep -q "cluster logs" <<<"$answer"'
docker_on node2 rm node2 >/dev/null

# A run on another machine that died: its lock expires, by the engine's clock.
docker_on node1 volume create --label envdoc.lock=lab --label 'envdoc.lock.holder={"id":"x1","command":"up","hostname":"ops2","process":7,"since":"2026-01-01T00:00:00Z"}' lab-lock-x1-0 >/dev/null
in_cluster down --lock-timeout 2
check_that "another machine's lock: down waits for it" eval 'ended_with 1 && grep -q "ops2" <<<"$answer"'
LIMIT=250 in_cluster down --leave-swarm --lock-timeout 100
check_that "another machine's lock: it expires" ended_with 0
shown 0
check_that "another machine's lock: it is gone" same "$(locks)" 0
hosts_stop
