# shellcheck shell=bash disable=SC2034,SC2154
# Docker 28.5: the smoke test, faults in it, and jobs of launch, one of which fails
# needs: fleet torch engine-28.5
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
[ -x "$LAB_KEPT/engine-28.5/usr/sbin/dockerd" ] || { skip "Docker 28.5 is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
TABLE=$LAB_KEPT/smoke-faults-28.md
: >"$TABLE"
IMAGE_KIND=torch WITH_IMAGE=all hosts_start 2 28.5 28.5 || return 1
check_that "both engines are 28.5" same "$(for host in node1 node2; do docker_on "$host" version --format '{{.Server.Version}}'; done | grep -c '^28\.5')" 2
mkdir -p "$LAB/cluster"
cluster_yaml 'environment: {USE_LIBUV: "0", OMP_NUM_THREADS: "1"}' 'storage: [{from: /root/code, to: /workspace, check: same-content}]' >"$LAB/cluster/cluster.yaml"
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
for host in node1 node2; do mkdir -p "$FLEET/$host/root/code" && cp "$LAB/sum.py" "$FLEET/$host/root/code/"; done
LIMIT=400 in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

smoke --format json
# A busy machine's bandwidth is its own matter.
check_that "smoke: no phase fails" eval 'grep -qE "^(ok|slow)$" < <(jq -r .verdict <<<"$answer")'
check_that "smoke: every element is correct" same "$(jq '[.results[] | select(.correct | not)] | length' <<<"$answer")" 0
echo "        ($((took / 1000)).$((took % 1000 / 100)) s) $(jq -r '.verdict, .says' <<<"$answer" | tr '\n' ' ')"
clean "smoke"
host_block node2 4789/udp
smoke_names "VXLAN from node1 to node2 is dropped by node2" failed tcp '^tcp: node2 drops incoming 4789/udp \(VXLAN\) from node1'
host_unblock node2 4789/udp
on node2 nsenter --target "$(docker_on node2 inspect --format '{{.State.Pid}}' node2)" --mount mount -o remount,ro /dev/shm
smoke_names "/dev/shm is read-only" failed shm '^shm: node2: /dev/shm is read-only'
on node2 nsenter --target "$(docker_on node2 inspect --format '{{.State.Pid}}' node2)" --mount mount -o remount,rw /dev/shm
docker_on node2 pause node2 >/dev/null
smoke_names "a paused container" failed containers 'node2: its container node2 is paused'
docker_on node2 unpause node2 >/dev/null
clean "after the faults"

nothing_of_it() {
    local host
    for host in node1 node2; do check_that "$1: nothing of the job is left on $host" test -z "$(docker_on "$host" top "$host" | grep -E 'sum\.py')"; done
}
LIMIT=150 in_cluster launch --launcher torchrun -- /workspace/sum.py
check_that "launch: status 0" ended_with 0
check_that "launch: both ranks summed over the overlay" same "$(grep -cE 'rank (0 of 2 on node1|1 of 2 on node2): 3' <<<"$answer$error")" 2
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | tail -20 | sed 's/^/        /'
nothing_of_it launch
LIMIT=150 in_cluster launch --launcher torchrun -- /workspace/sum.py fail
check_that "launch, a rank dies: not status 0" test "$code" -ne 0
check_that "launch, a rank dies: it is named" grep -qE 'rank 1 on node2.*9' <<<"$answer$error"
printf '%s\n' "$answer$error" | grep -E 'rank [01]|job' | cut -c1-200 | head -8 | sed 's/^/        /'
nothing_of_it "launch, a rank dies"
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
hosts_stop
