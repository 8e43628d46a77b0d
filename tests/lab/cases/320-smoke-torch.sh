# shellcheck shell=bash disable=SC2034,SC2154
# The image's own torch sums across two engines, and is told apart when it cannot
# needs: fleet torch
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-torch.md
printf '| fault | verdict | rung | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
hosts_start 2 || return 1
docker_on node1 import "$LAB_TORCH" lab:fleet >/dev/null
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
LIMIT=240 smoke --torch
printf '%s\n' "$answer" | sed 's/^/    /'
check_that "torch: it sums over gloo" grep -qE 'torch [0-9.]+.* over gloo on 2 ranks: every element right' <<<"$(tr -s ' \n' ' ' <<<"$answer")"
clean torch
LIMIT=240 smoke_names "InfiniBand is expected where there is no GPU" failed devices 'no GPU: libcuda.so.1.*not there' --expect-transport ib
docker_on node2 exec node2 sh -c 'mv /usr/lib/python3/dist-packages/torch /usr/lib/python3/dist-packages/torch.gone'
LIMIT=240 smoke_names "one image has no torch" failed torch "node2.*No module named 'torch'" --torch
in_cluster down --leave-swarm >/dev/null
hosts_stop
