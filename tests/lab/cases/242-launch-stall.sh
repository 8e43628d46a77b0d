# shellcheck shell=bash disable=SC2034,SC2154
# A rank that is stopped is named with node, process and state; a node that is cut off leaves processes, and envdoc says how to stop them
# long
# needs: fleet torch
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
IMAGE_KIND=torch WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster"
cluster_yaml 'launcher: torchrun' 'environment: {USE_LIBUV: "0", OMP_NUM_THREADS: "1"}' \
    'storage: [{from: /root/code, to: /workspace}]' >"$LAB/cluster/cluster.yaml"
cat >"$LAB/sums.py" <<'PYTHON'
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
with open(f"/workspace/rank{rank}", "w") as file: file.write(str(os.getpid()))
print(f"rank {rank} is there", flush=True)
going = torch.ones(1 << 14)
try:
    while going[0] > 0:
        going.fill_(0 if os.path.exists("/workspace/stop") else 1)
        dist.all_reduce(going, op=dist.ReduceOp.MIN)
        time.sleep(0.05)
except RuntimeError as error:
    # A rank that does not end when it has lost the others.
    print(f"rank {rank} lost the others: {error}", flush=True)
    while True: time.sleep(1)
dist.destroy_process_group()
PYTHON
for host in node1 node2; do mkdir -p "$FLEET/$host/root/code" && cp "$LAB/sums.py" "$FLEET/$host/root/code/"; done
LIMIT=400 in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'

rank_of() { cat "$FLEET/$1/root/code/rank$2"; }
of_job() { docker_on "$1" top "$1" 2>/dev/null | grep -c '[s]ums\.py'; }
# job ARGUMENT…: one that runs; its output is in $LAB/job.
job() {
    local host
    for host in node1 node2; do rm -f "$FLEET/$host"/root/code/{rank?,stop}; done
    timeout -k 5 500 /run/lab/envdoc cluster launch --file "$LAB/cluster/cluster.yaml" "$@" -- /workspace/sums.py >"$LAB/job" 2>&1 &
    running=$!
    wait_until 150 eval '[ -s "$FLEET/node1/root/code/rank0" ] && [ -s "$FLEET/node2/root/code/rank1" ]'
}
ended() { wait "$running"; code=$? error=$(cat "$LAB/job") answer=; }
# A line has a time, which tells this report from the one before.
reported() { grep -q "$1" "$LAB/job"; }

job --stall 12
sleep 30
check_that "a job that works: no warning" not reported warning:
docker_on node2 exec node2 kill -STOP "$(rank_of node2 1)"
wait_until 180 reported 'warning: rank 1 on node2'
check_that "a stopped rank: node, process and state" \
    reported "warning: rank 1 on node2 (pid $(rank_of node2 1)) is stopped by a signal (state T) and has made no progress for"
check_that "a stopped rank: likely the cause" reported 'likely cause: the other ranks wait for it'
check_that "a stopped rank: the others" reported 'other ranks: 1 wait'
check_that "a stopped rank: what shows its stack" reported "envdoc cluster exec node2 -- py-spy dump --nonblocking --pid $(rank_of node2 1)"
check_that "a stopped rank: the flight recorder" reported TORCH_NCCL_TRACE_BUFFER_SIZE
check_that "a stopped rank: the job is left alone" kill -0 "$running"
grep -A5 'warning: rank' "$LAB/job" | sed 's/^/        /'
continue_it=$(sed -n 's/.*Continue it: `envdoc cluster exec \(.*\)`$/\1/p' "$LAB/job" | head -1)
eval "in_cluster exec $continue_it"
check_that "continued: the command works" ended_with 0
wait_until 120 reported 'makes progress again'
check_that "continued: envdoc says so" reported 'makes progress again'
for host in node1 node2; do touch "$FLEET/$host/root/code/stop"; done
ended
check_that "continued: the exit code is the job's" ended_with 0

job --stall 10 --on-stall stop
docker_on node2 exec node2 kill -STOP "$(rank_of node2 1)"
ended
check_that "--on-stall stop: not status 0" test "$code" -ne 0
check_that "--on-stall stop: the rank is named" reported 'rank 1 on node2 .* (state T)'
check_that "--on-stall stop: nothing is left" same "$(of_job node1) $(of_job node2)" "0 0"

job --stall 0
host_cut node2
ended
check_that "a node that is cut off: not status 0" test "$code" -ne 0
check_that "a node that is cut off: it is named" reported 'job failed: node2 was lost'
check_that "a node that is cut off: nothing is left on the other" same "$(of_job node1)" 0
check_that "a node that is cut off: the job runs on there" test "$(of_job node2)" -gt 0
check_that "a node that is cut off: what to type there" reported "docker exec node2 sh -c 'grep -lszx ENVDOC_JOB="
grep -E 'job failed|may still run' "$LAB/job" | sed 's/^/        /'
host_join node2
wait_until 60 ssh -n node2 true
in_cluster status
check_that "reachable again: status names the processes of the job" grep -q 'node2: processes of an earlier .* still run: .*sums.py' <(tr '\n' ' ' <<<"$answer")
in_cluster up
check_that "reachable again: up names them too" grep -q 'processes of an earlier .* still run' <(tr '\n' ' ' <<<"$answer")
stop_it=$(sed -n 's/.*when the node is reachable: `envdoc cluster exec \(.*\)`; or on.*/\1/p' "$LAB/job")
eval "in_cluster exec $stop_it"
check_that "reachable again: the command that was given works" ended_with 0
check_that "reachable again: nothing is left" same "$(of_job node2)" 0
in_cluster status
check_that "reachable again: status names nothing then" eval '! grep -q "processes of an earlier" <<<"$answer"'

# Cut off for less than envdoc waits.
job --stall 0
host_cut node2
wait_until 200 reported 'waiting up to 60 s for node2'
host_join node2
ended
check_that "back while envdoc waits: the job is ended there" same "$(of_job node2)" 0
check_that "back while envdoc waits: nothing is to be typed" not reported "may still run there"
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
hosts_stop
