# shellcheck shell=bash disable=SC2034,SC2154
# Two runs of up at once: the second waits, or says who holds the lock; a killed run's lock does not stay
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
hosts_start 2 && image_on node1 || return 1
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

# A run on another machine that died: its lock expires, by the engine's clock.
docker_on node1 volume create --label envdoc.lock=lab --label 'envdoc.lock.holder={"id":"x1","command":"up","hostname":"ops2","process":7,"since":"2026-01-01T00:00:00Z"}' lab-lock-x1-0 >/dev/null
in_cluster down --lock-timeout 2
check_that "another machine's lock: down waits for it" eval 'ended_with 1 && grep -q "ops2" <<<"$answer"'
LIMIT=250 in_cluster down --leave-swarm --lock-timeout 100
check_that "another machine's lock: it expires" ended_with 0
shown 0
check_that "another machine's lock: it is gone" same "$(locks)" 0
hosts_stop
