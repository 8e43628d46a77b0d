# shellcheck shell=bash disable=SC2034,SC2154
# Real jobs over two engines of different age: DeepSpeed trains with its hostfile, torchrun sums; a rank that dies takes the others along
# long
# needs: fleet torch engine-26.1
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
[ -x "$LAB_KEPT/engine-26.1/usr/sbin/dockerd" ] || { skip "Docker 26.1 is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
IMAGE_KIND=torch WITH_IMAGE=all hosts_start 2 "" 26.1 || return 1
versions="$(docker_on node1 version --format '{{.Server.Version}}') and $(docker_on node2 version --format '{{.Server.Version}}')"
echo "    engines $versions"
check_that "the engines are 20.10 and 26.1, or this machine's and 26.1" grep -q "and 26.1" <<<"$versions"

# What is typed and what comes, for people: $LAB_KEPT/cluster-transcript.txt
transcript=$LAB_KEPT/cluster-transcript.txt
: >"$transcript"
tell() {
    { echo "\$ envdoc cluster $1"; sed -n "${2:-1,\$p}" <<<"$error"; sed -n "${2:-1,\$p}" <<<"$answer"; echo; } | sed 's/[[:space:]]*$//' >>"$transcript"
}
mkdir -p "$LAB/cluster"
envdoc cluster init --nodes 10.77.10.1,10.77.10.2 --image lab:fleet --name lab --output -
tell "init --nodes 10.77.10.1,10.77.10.2 --image lab:fleet --name lab --output -"
cluster_yaml 'environment: {DS_ACCELERATOR: cpu, USE_LIBUV: "0", OMP_NUM_THREADS: "1"}' \
    'storage: [{from: /root/code, to: /workspace, check: same-content}]' >"$LAB/cluster/cluster.yaml"
cat >"$LAB/train.py" <<'PYTHON'
import os, socket, sys, time
import torch, deepspeed
import torch.distributed as dist
# No compiler is in this image: gloo alone, without DeepSpeed's shared memory between ranks of one machine.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
deepspeed.init_distributed("gloo")
rank, where = dist.get_rank(), socket.gethostname()
torch.manual_seed(7)
settings = {"train_micro_batch_size_per_gpu": 64, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}
model, *_ = deepspeed.initialize(model=torch.nn.Linear(8, 1), config=settings)
torch.manual_seed(rank)
for step in range(20):
    inputs = torch.randn(64, 8)
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
    model.backward(loss)
    model.step()
    if step in (0, 19): print(f"rank {rank} of {dist.get_world_size()} on {where}: step {step} loss {loss.item():.3f}", flush=True)
weights = torch.cat([one.detach().flatten() for one in model.module.parameters()])
print(f"rank {rank} weights {weights.sum().item():.6f}", flush=True)
if "fail" in sys.argv:
    if rank == 1: os._exit(9)
    time.sleep(300)
PYTHON
cat >"$LAB/sum.py" <<'PYTHON'
import os, socket, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
total = torch.ones(1 << 20) * (rank + 1)
dist.all_reduce(total)
print(f"rank {rank} of {dist.get_world_size()} on {socket.gethostname()}: {total[0].item():.0f}", flush=True)
if "fail" in sys.argv:
    if rank == 1: os._exit(9)
    time.sleep(300)
dist.barrier()
dist.destroy_process_group()
PYTHON
for host in node1 node2; do mkdir -p "$FLEET/$host/root/code" && cp "$LAB/train.py" "$LAB/sum.py" "$FLEET/$host/root/code/"; done

LIMIT=400 in_cluster up
tell up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
echo "    up after $took ms"

nothing_of_it() {
    local host
    for host in node1 node2; do
        check_that "$1: nothing of the job is left on $host" test -z "$(docker_on "$host" top "$host" | grep -E 'train\.py|sum\.py|eat\.py')"
    done
}
shown() { printf '%s\n' "$answer$error" | grep -E 'rank [01]|job|ended' | cut -c1-200 | head -12 | sed 's/^/        /'; }
LIMIT=150 in_cluster launch -- /workspace/train.py
tell "launch -- /workspace/train.py"
check_that "deepspeed: status 0" ended_with 0
check_that "deepspeed: both ranks trained, each on its node" same "$(grep -cE 'rank (0 of 2 on node1|1 of 2 on node2): step 19' <<<"$answer$error")" 2
# From about 10 at step 0.
check_that "deepspeed: it learned" same "$(grep -cE 'step 19 loss [01]\.' <<<"$answer$error")" 2
weights=$(grep -oE 'rank [01] weights [-0-9.]+' <<<"$answer$error" | cut -d' ' -f4 | sort -u | wc -l)
check_that "deepspeed: both have the same weights" same "$weights" 1
shown
nothing_of_it deepspeed
LIMIT=150 in_cluster launch -- /workspace/train.py fail
tell "launch -- /workspace/train.py fail"
check_that "deepspeed, a rank dies: not status 0" test "$code" -ne 0
check_that "deepspeed, a rank dies: the others are not left for 300 s" within_ms 100000
check_that "deepspeed, a rank dies: it is named" grep -qE 'rank 1 on node2.*9' <<<"$answer$error"
shown
nothing_of_it "deepspeed, a rank dies"

LIMIT=150 in_cluster launch --launcher torchrun -- /workspace/sum.py
tell "launch --launcher torchrun -- /workspace/sum.py"
check_that "torchrun: status 0" ended_with 0
check_that "torchrun: both ranks summed over the overlay" same "$(grep -cE 'rank (0 of 2 on node1|1 of 2 on node2): 3' <<<"$answer$error")" 2
shown
nothing_of_it torchrun
LIMIT=150 in_cluster launch --launcher torchrun -- /workspace/sum.py fail
tell "launch --launcher torchrun -- /workspace/sum.py fail"
check_that "torchrun, a rank dies: not status 0" test "$code" -ne 0
check_that "torchrun, a rank dies: the others are not left for 300 s" within_ms 90000
check_that "torchrun, a rank dies: it is named" grep -qE 'rank 1 on node2.*9' <<<"$answer$error"
shown
nothing_of_it "torchrun, a rank dies"
# A rank that asks for more memory than its container may have.
cat >"$LAB/eat.py" <<'PYTHON'
import time
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1: kept = bytearray(b"x") * (2 << 30)
time.sleep(300)
PYTHON
for host in node1 node2; do cp "$LAB/eat.py" "$FLEET/$host/root/code/"; done
docker_on node2 update --memory 600m --memory-swap 600m node2 >/dev/null
LIMIT=150 in_cluster launch --launcher torchrun -- /workspace/eat.py
tell "launch --launcher torchrun -- /workspace/eat.py"
docker_on node2 update --memory 4g --memory-swap 4g node2 >/dev/null
check_that "a rank beyond the memory limit: node, rank, counter and limit" grep -qE "^node2: rank 1 ended with signal 9 \(SIGKILL\); the kernel's OOM killer killed [1-9].* in container node2 \(oom_kill in .* went from 0 to [1-9].*600 MiB" <<<"$error"
check_that "a rank beyond the memory limit: the command that confirms it" grep -qE 'docker exec node2 cat /sys/fs/cgroup/.*docker inspect -f' <<<"$error"
check_that "a rank beyond the memory limit: no word of it on the other node" not grep -qE '^node1: .*OOM' <<<"$error"
grep -A2 'OOM killer' <<<"$error" | sed 's/^/        /'
sed -i 's/^if dist.get_rank() == 1:.*/import os; dist.get_rank() == 1 and os.kill(os.getpid(), 9)/' "$FLEET"/node?/root/code/eat.py
LIMIT=150 in_cluster launch --launcher torchrun -- /workspace/eat.py
check_that "a rank that SIGKILL ended: the counter says that it was not the OOM killer" grep -qF 'node2: rank 1 ended with signal 9 (SIGKILL); not by the OOM killer' <<<"$error"
nothing_of_it "a rank beyond the memory limit"
# A job whose ranks print where `docker logs` reads: what failed first, and where, is read from all nodes at once.
cat >"$LAB/die.py" <<'PYTHON'
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(8)
dist.all_reduce(total)
if dist.get_rank() == 1:
    raise ValueError("batch 17 has no labels")
dist.barrier()
PYTHON
for host in node1 node2; do
    cp "$LAB/die.py" "$FLEET/$host/root/code/"
    docker_on "$host" exec --env USE_LIBUV=0 "$host" sh -c "timeout 90 torchrun --nnodes 2 --node-rank $((${host#node} - 1)) --nproc-per-node 1 \
        --master-addr node1 --master-port 29555 /workspace/die.py >/proc/1/fd/1 2>&1" &
    pids[${host#node}]=$!
done
wait "${pids[@]}"
envdoc diagnose --cluster "$LAB/cluster/cluster.yaml" --format json
check_that "diagnose --cluster: status 1" ended_with 1
first=$(jq -c '.causes[0]' <<<"$answer")
check_that "diagnose --cluster: the exception is the first cause" grep -q 'batch 17 has no labels' <<<"$first"
check_that "diagnose --cluster: with its node and rank" eval 'grep -q "rank 1" < <(jq -r .causes[0].whose <<<"$answer") && grep -q node2 < <(jq -r .causes[0].whose <<<"$answer")'
cut -c1-600 <<<"$first" | sed 's/^/        /'
without=$(jq .lines <<<"$answer") kernel=$(dmesg | wc -l)
envdoc diagnose --cluster "$LAB/cluster/cluster.yaml" --kernel --format json
check_that "diagnose --cluster --kernel: the kernel's lines of both nodes are read too" test "$(jq .lines <<<"$answer")" -ge "$((without + 2 * kernel - 20))"

in_cluster down --leave-swarm
tell "down --leave-swarm"
check_that "down: status 0" ended_with 0
hosts_stop
