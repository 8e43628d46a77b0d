#!/usr/bin/env bash
# In the lab's namespaces: makes the surroundings, runs the files of cases/, counts.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
# shellcheck source=tests/lab/lib.sh
. ./lib.sh

# A machine of its own as far as files go: /run, /etc, the engine's data.
mkdir -p "$LAB/etc" "$LAB/cgroup" "$LAB/docker" || exit 2
cp -a /etc/. "$LAB/etc/" && mount --bind "$LAB/etc" /etc && rm -rf /etc/docker || exit 2
mount -t tmpfs -o mode=755 lab /run || exit 2
mkdir -p /run/lock "$HOME"
stored python "$LAB_DATA" || exit 2
[ -d /var/lib/docker ] && mount -t tmpfs -o mode=710 lab /var/lib/docker
# /sys shows the network of whoever mounted it: a new one, with the cgroups of before.
if mount --rbind /sys/fs/cgroup "$LAB/cgroup" && mount -t sysfs sysfs /sys 2>/dev/null; then
    mount --rbind "$LAB/cgroup" /sys/fs/cgroup
fi
umount -l "$LAB/cgroup"
ip link set lo up
# A wire to nowhere, so that the machine has an interface, an address and a default route.
if ip netns add far 2>/dev/null && ip link add eth0 type veth peer name wire netns far 2>/dev/null; then
    ip -n far addr add 10.77.0.1/24 dev wire && ip -n far link set wire up
    ip link set eth0 up && ip addr add 10.77.0.2/24 dev eth0 && ip route add default via 10.77.0.1
fi
# What is left in it is this lab's own.
if [ -n "${LAB_LEFT:-}" ]; then mkdir -p "$LAB/t" && export TMPDIR="$LAB/t"; fi
install -m 755 "$LAB_ENVDOC" /run/lab/envdoc
# It is brought into containers and to hosts, over and over: without its symbols, a third of it.
strip /run/lab/envdoc 2>/dev/null
chmod 755 /run/lab

# However a case ends: its hosts do not outlive it, nor do the interfaces that they hang on.
at_end() {
    local status=$?
    if [ -n "${HOSTS[*]:-}" ]; then hosts_stop; fi
    exit "$status"
}
# Those that say `# long` first, so that no shard waits for one of them at the end.
mapfile -t cases < <(grep -l '^# long' cases/*.sh; grep -L '^# long' cases/*.sh)
for file in "${cases[@]}"; do
    name=$(basename "$file" .sh)
    if [ $# -gt 0 ]; then
        wanted=
        for word in "$@"; do [[ $name == *"$word"* ]] && wanted=yes; done
        [ -n "$wanted" ] || continue
    elif grep -q '^# measurement' "$file"; then
        continue
    fi
    if [ -n "$LAB_CLAIMS" ]; then mkdir "$LAB_CLAIMS/$name" 2>/dev/null || continue; fi
    if [ $# -eq 0 ] && [ -z "${LAB_SLOW:-}" ] && grep -q '^# slow' "$file"; then
        printf '\n--- %s: left out, it is slow (tests/run.sh slow)\n' "$name"
        continue
    fi
    before=$SECONDS
    # Each in a shell of its own: a case that breaks takes no other with it. Printed when it has ended, so that the lines of two
    # shards do not mix.
    # shellcheck source=/dev/null
    (CASE="$name: " && trap at_end EXIT && . "./$file") >"$LAB/output" 2>&1
    status=$?
    [ "$status" -eq 0 ] || CASE='' count failed "$name ended with status $status"
    printf '\n--- %s: %s\n%s\n    (%s s)\n' "$name" "$(sed -n '2s/^# *//p' "$file")" "$(cat "$LAB/output")" \
        "$((SECONDS - before))"
    engine_stop
done
# Shards count together, when the last one has ended.
[ -z "$LAB_CLAIMS" ] || { ! grep -q '^failed ' "$LAB_COUNTS"; exit; }

passed=$(grep -c '^passed ' "$LAB_COUNTS")
failed=$(grep -c '^failed ' "$LAB_COUNTS")
skipped=$(grep -c '^skipped ' "$LAB_COUNTS")
printf '\nlab: %s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
