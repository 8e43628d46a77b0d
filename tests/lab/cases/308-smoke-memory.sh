# shellcheck shell=bash disable=SC2034,SC2154
# A /dev/shm that takes no file is named; a rank that the OOM killer ends too, with limit and counter; SIGKILL alone is not called that
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-memory.md
: >"$TABLE"
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
fixes() { jq -r '.fix[]' <<<"$answer"; }
limit() { docker_on node2 update --memory "$1" --memory-swap "$1" node2 >/dev/null; }

in_node2() { on node2 nsenter --target "$(docker_on node2 inspect --format '{{.State.Pid}}' node2)" --mount "$@"; }
# What the fix offers to confirm it, on the machine of the node.
confirmed() { on node2 sh -c "$(grep -oE "docker exec node2 sh -c '[^']*'" < <(fixes))" 2>&1; }
in_node2 mount -o remount,ro /dev/shm
smoke_names "/dev/shm is read-only" failed shm '^shm: node2: /dev/shm is read-only'
check_that "/dev/shm is read-only: the command that confirms it" grep -q 'Read-only file system' < <(confirmed)
on node2 sh -c "$(grep -oE 'nsenter --target [^`]*' < <(fixes))"
in_node2 sh -c 'head -c 64m /dev/zero >/dev/shm/filler'
smoke_names "/dev/shm is full" failed shm '^shm: node2: /dev/shm is full: it has no room for a file of 4 MiB'
check_that "/dev/shm is full: the command that confirms it" grep -q '100% /dev/shm' < <(confirmed)
in_node2 sh -c 'rm /dev/shm/filler && umount /dev/shm && rmdir /dev/shm'
smoke_names "/dev/shm is missing" failed shm '^shm: node2: /dev/shm does not exist'
in_node2 sh -c 'mkdir -m 1777 /dev/shm && mount -t tmpfs -o size=64m,mode=1777 shm /dev/shm'
smoke --format json
check_that "/dev/shm as it was, also by the command of the fix: the phase passes" \
    same "$(jq -r '.phases[] | select(.name == "shm").status' <<<"$answer")" passed
check_that "/dev/shm: no file of the trial is left" test -z "$(in_node2 ls -A /dev/shm)"
AS=(unshare --mount sh -c 'mount -t tmpfs -o ro shm /dev/shm && exec "$@"' sh)
envdoc smoke --local --ranks 2 --sizes 8 --format json
AS=(env)
named "/dev/shm of this machine is read-only" failed shm '^shm: this machine: /dev/shm is read-only'

limit 60m
SIZES=8,64M smoke_names "a rank beyond the memory limit" failed bandwidth \
    "node2: the kernel's OOM killer killed 1 process in container node2 \(oom_kill in /sys/fs/cgroup/.* went from 0 to 1\); (the container reached its memory limit of|the memory limit of the container is) 60 MiB"
check_that "beyond the limit: the command that confirms it" \
    grep -qF "docker inspect -f '{{.State.OOMKilled}} {{.HostConfig.Memory}}' node2" < <(fixes)
counter=$(grep -oE 'docker exec node2 cat [^;`]*' < <(fixes))
# shellcheck disable=SC2086
check_that "beyond the limit: that command shows the counter" grep -qE '^oom_kill [1-9]' < <(docker_on node2 ${counter#docker })
limit 4g

worker_on() { docker_on "$1" top "$1" -eo pid,args | awk '/envdoc-worker/ && !/defunct/ { newest = $1 } END { print newest }'; }
smoke_start --format json --pause all-reduce:2
smoke_reaches all-reduce 0.3
on node2 kill -KILL "$(worker_on node2)"
smoke_ends
named "a rank that somebody killed" failed all-reduce 'node2: the worker exited'
check_that "a rank that somebody killed: no word of the OOM killer" not grep -qE 'OOM' <<<"$answer"

in_cluster down --leave-swarm >/dev/null
hosts_stop

# On this machine: in a control group with a limit.
for base in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    group=$base/$LAB_GROUP-limited
    mkdir -p "$group" 2>/dev/null || continue
    for file in memory.limit_in_bytes memory.memsw.limit_in_bytes memory.max; do
        [ ! -e "$group/$file" ] || echo 100M >"$group/$file" || true
    done
    [ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
    [ -e "$group/memory.limit_in_bytes" ] || [ -e "$group/memory.max" ] && break
    group=
done
if [ -n "${group:-}" ]; then
    AS=(sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh)
    LIMIT=90 envdoc smoke --local --ranks 2 --sizes 8,64M --format json
    AS=(env)
    named "a rank of this machine beyond the limit" failed bandwidth \
        'rank [01] \(process [0-9]+\).* ended with signal 9 \(SIGKILL\).*(the cgroup reached its memory limit of|the memory limit of the cgroup is) 100 MiB'
    check_that "this machine: the file that confirms it" grep -qF "cat $group" < <(fixes)
    rmdir "$group" 2>/dev/null || true
else
    skip "no control group with a memory limit can be made"
fi
