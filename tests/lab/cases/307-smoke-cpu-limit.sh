# shellcheck shell=bash disable=SC2034,SC2154
# A CPU limit that throttles a container, or the ranks of this machine, is named by the kernel's counters; without it no word
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-cpu.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
throttled() { jq -r '[.cpu_limits[] | select(.throttled_periods > 0) | .container // "this machine"] | join(",")' <<<"$answer"; }
fixes() { jq -r '.fix[]' <<<"$answer"; }

smoke --format json
check_that "no limit: no word of one" not grep -q 'CPU limit' <<<"$answer"
check_that "no limit: the counters of both containers are read" same "$(jq -r '[.cpu_limits[] | select(.unread == null).container] | join(",")' <<<"$answer")" node1,node2
docker_on node2 update --cpus 0.1 node2 >/dev/null
LIMIT=180 smoke_names "a container with a tenth of a CPU" slow '' \
    'the CPU limit of 0\.1 CPUs throttled container node2 in [1-9][0-9]* of [1-9][0-9]* periods \(nr_throttled in /sys/fs/cgroup/.*cpu\.stat\)'
check_that "a tenth of a CPU: status 1" ended_with 1
check_that "a tenth of a CPU: only node2 in JSON" same "$(throttled)" node2
check_that "a tenth of a CPU: the command that raises the limit" grep -qF 'docker update --cpus N node2' < <(fixes)
confirm=$(grep -oE 'docker exec node2 cat [^;`]*' < <(fixes))
# shellcheck disable=SC2086
check_that "a tenth of a CPU: that command shows the counter" grep -qE '^nr_throttled [1-9]' < <(docker_on node2 ${confirm#docker })
docker_on node2 update --cpus "$(nproc)" node2 >/dev/null
smoke --format json
check_that "the limit is raised: it is no cause any more" not grep -q 'the CPU limit of' < <(jq -r .says <<<"$answer")
in_cluster down --leave-swarm >/dev/null
hosts_stop

# On this machine: in a control group with a limit.
for base in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
    group=$base/$LAB_GROUP-throttled
    mkdir -p "$group" 2>/dev/null || continue
    [ ! -e "$group/cpu.cfs_quota_us" ] || { echo 5000 >"$group/cpu.cfs_quota_us" && break; }
    [ ! -e "$group/cpu.max" ] || { echo '5000 100000' >"$group/cpu.max" && break; }
    rmdir "$group" 2>/dev/null || true
    group=
done
if [ -n "${group:-}" ]; then
    AS=(sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh)
    LIMIT=180 envdoc smoke --local --ranks 2 --sizes "$SIZES" --format json
    AS=(env)
    named "ranks of this machine with a twentieth of a CPU" slow '' 'the CPU limit of 0\.05 CPUs throttled the ranks of this machine in [1-9]'
    check_that "this machine: the file that confirms it" grep -qF "$group/cpu.stat" < <(fixes)
    check_that "this machine: one entry in JSON" same "$(throttled)" "this machine"
    rmdir "$group" 2>/dev/null || true
else
    skip "no control group with a CPU limit can be made"
fi
