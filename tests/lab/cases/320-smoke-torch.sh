# shellcheck shell=bash disable=SC2034,SC2154
# The image's own torch sums across two engines, DeepSpeed trains, NCCL finds its library; and each failure is distinguished
# needs: fleet torch
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-torch.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
IMAGE_KIND=torch WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster"
cluster_yaml 'environment: {DS_ACCELERATOR: cpu, USE_LIBUV: "0", OMP_NUM_THREADS: "1"}' >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
LIMIT=240 smoke --torch
printf '%s\n' "$answer" | sed 's/^/    /'
check_that "torch: it sums over gloo" grep -qE 'torch [0-9.]+.* over gloo on 2 ranks: every element correct' <<<"$(tr -s ' \n' ' ' <<<"$answer")"
clean torch
LIMIT=240 smoke_names "InfiniBand is expected where there is no GPU" failed devices 'no GPU: libcuda.so.1.*not found' --expect-transport ib

LIMIT=300 smoke --deepspeed
printf '%s\n' "$answer" | sed 's/^/    /'
check_that "deepspeed: it trains over the overlay, with the same loss everywhere" \
    grep -qE 'DeepSpeed [0-9.]+ with torch [^ ]+ over gloo on 2 ranks: 20 steps of ZeRO-2 .* bitwise identical on all ranks' <<<"$(tr -s ' \n' ' ' <<<"$answer")"
clean deepspeed
for host in node1 node2; do
    check_that "deepspeed: no process of it is left on $host" test -z "$(docker_on "$host" top "$host" | grep zero2)"
    check_that "deepspeed: no file of it is left on $host" test -z "$(docker_on "$host" exec "$host" sh -c 'ls -d /tmp/envdoc-job-* 2>/dev/null')"
done

# The real libnccl, where PyPI's torch would bring it, and no GPU. tests/run.sh slow fetches it.
nccl=$(find "$LAB_KEPT/../nccl/" -name libnccl.so.2 2>/dev/null | head -1)
if [ -n "$nccl" ]; then
    docker_on node1 exec node1 mkdir -p /usr/lib/python3/dist-packages/nvidia/nccl/lib
    docker_on node1 cp "$nccl" node1:/usr/lib/python3/dist-packages/nvidia/nccl/lib/
    LIMIT=120 smoke_names "the image has NCCL, and there is no GPU" failed devices \
        'node1, GPU 0: no GPU: libcuda.so.1.*NCCL [0-9.]+ found \(/usr/lib/python3/dist-packages/nvidia/nccl' --nccl
    clean nccl
else
    skip "the real libnccl is not here (tests/run.sh slow)"
fi

docker_on node2 exec node2 sh -c 'mv /usr/lib/python3/dist-packages/deepspeed /usr/lib/python3/dist-packages/deepspeed.gone 2>/dev/null || mv "$(python3 -c "import importlib.util as i; print(i.find_spec(\"deepspeed\").submodule_search_locations[0])")" /root/gone'
LIMIT=300 smoke_names "one image has no DeepSpeed" failed deepspeed "node2.*No module named 'deepspeed'" --deepspeed
check_that "no DeepSpeed: its meaning is explained" test "$(jq '.causes | length' <<<"$answer")" -gt 0
docker_on node2 exec node2 sh -c 'mv /usr/lib/python3/dist-packages/torch /usr/lib/python3/dist-packages/torch.gone'
LIMIT=240 smoke_names "one image has no torch" failed torch "node2.*No module named 'torch'" --torch
in_cluster down --leave-swarm >/dev/null
hosts_stop
