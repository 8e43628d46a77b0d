# Several hosts on one machine: words for the cases 200 and up. Sourced by them, in the lab's namespaces.
#
# A host is a namespace of network, mounts, names and processes of its own, with its own /etc, /run, /tmp, /root, machine id, boot id
# and /sys, joined to the others by a bridge (10.77.10.0/24, host N is .N). It runs a dockerd with all of its defaults (its data are
# on the lab's disk) and an sshd. The lab's own namespace is the controller, where envdoc runs: `ssh node1` works there without a
# question. One kernel serves them all: what it has only once (clock, memory, the hard limits) they share.
# shellcheck shell=bash disable=SC2034,SC2154

HOSTS=()
declare -A HOST_PID=() HOST_ENGINE=() HOST_CABLE=()
# Where hosts keep what outlives their restart.
FLEET=$LAB/fleet

host_number() { echo "${1#node}"; }
host_address() { echo "10.77.10.${1#node}"; }

# on HOST COMMAND…: runs a command there.
on() {
    local pid=${HOST_PID[$1]}
    shift
    nsenter --target "$pid" --net --mount --uts --pid --wd=/ "$@"
}
# docker_on HOST ARGUMENT…: docker there, spoken to from here.
docker_on() {
    local host=$1
    shift
    docker --host "unix://$FLEET/$host/run/docker.sock" "$@"
}

# hosts_start N [VERSION…]: N hosts, engines and sshds that answer; engine versions other than this machine's by host: `26.1`.
# WITH_IMAGE names the hosts that have lab:fleet from the start (`all`: each of them), IMAGE_KIND which base image that is.
hosts_start() {
    local count=$1 number host
    shift
    [ ${#HOSTS[@]} -eq 0 ] || hosts_stop
    mkdir -p "$FLEET"
    ip link add fleet0 type bridge 2>/dev/null
    ip addr add 10.77.10.254/24 dev fleet0 2>/dev/null
    ip link set fleet0 up
    # A bridge's ports need no firewall of their own.
    iptables -C FORWARD -i fleet0 -o fleet0 -j ACCEPT 2>/dev/null || iptables -I FORWARD -i fleet0 -o fleet0 -j ACCEPT 2>/dev/null
    controller_ssh
    for number in $(seq "$count"); do
        HOST_ENGINE[node$number]=${1:-}
        shift 2>/dev/null
        HOSTS+=("node$number")
    done
    local image=" ${WITH_IMAGE:-} "
    [ "${WITH_IMAGE:-}" != all ] || image=" ${HOSTS[*]} "
    for host in "${HOSTS[@]}"; do
        host_make "$host" || return 1
        [[ $image != *" $host "* ]] || stored "${IMAGE_KIND:-fleet}" "$FLEET/$host/docker" || return 1
        host_boot "$host" || return 1
    done
    for host in "${HOSTS[@]}"; do host_ready "$host" || return 1; done
    # shellcheck disable=SC2086
    [ -z "${image// /}" ] || image_on $image
}

# The controller: a home of root's own in the lab's /etc/passwd (ssh asks there, not HOME), one key, and the hosts' keys pinned.
controller_ssh() {
    sed -i 's|^\(root:[^:]*:[^:]*:[^:]*:[^:]*:\)[^:]*|\1/run/lab/root|' /etc/passwd
    mkdir -p /run/lab/root/.ssh && chmod 700 /run/lab/root/.ssh
    [ -f /run/lab/root/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f /run/lab/root/.ssh/id_ed25519
    printf 'Host node* 10.77.10.*\n    User root\n    ConnectTimeout 5\n' >/run/lab/root/.ssh/config
    : >/run/lab/root/.ssh/known_hosts
    sed -i '/ node[0-9]*$/d' /etc/hosts
}

# What a host has on its disk.
host_make() {
    local host=$1 address folder=$FLEET/$1
    address=$(host_address "$host")
    mkdir -p "$folder/docker" "$folder/run" "$folder/root/.ssh" "$folder/tmp"
    chmod 1777 "$folder/tmp"
    chmod 700 "$folder/root" "$folder/root/.ssh"
    [ -d "$folder/etc" ] || cp -a /etc "$folder/etc"
    rm -rf "$folder/etc/docker"
    echo "$host" >"$folder/etc/hostname"
    md5sum <<<"$host" | cut -c1-32 >"$folder/etc/machine-id"
    sed -i 's|^\(root:[^:]*:[^:]*:[^:]*:[^:]*:\)[^:]*|\1/root|' "$folder/etc/passwd"
    grep -q '^sshd:' "$folder/etc/passwd" || echo 'sshd:x:111:65534::/run/sshd:/usr/sbin/nologin' >>"$folder/etc/passwd"
    cp /run/lab/root/.ssh/id_ed25519.pub "$folder/root/.ssh/authorized_keys"
    [ -f "$folder/etc/host_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/etc/host_key"
    printf '%s\n' "ListenAddress 0.0.0.0" "HostKey /etc/host_key" "PidFile /run/sshd.pid" "PermitRootLogin prohibit-password" \
        "PasswordAuthentication no" "UsePAM no" "MaxStartups 100" "MaxSessions 100" >"$folder/etc/sshd_fleet"
    printf '%s,%s %s\n' "$host" "$address" "$(cut -d' ' -f1,2 "$folder/etc/host_key.pub")" >>/run/lab/root/.ssh/known_hosts
    local other
    { echo "127.0.0.1 localhost"; for other in "${HOSTS[@]}"; do echo "$(host_address "$other") $other"; done; } >"$folder/etc/hosts"
    grep -q " $host\$" /etc/hosts || echo "$address $host" >>/etc/hosts
}

# The namespaces of a host, its network, its sshd and its engine.
host_boot() {
    local host=$1 folder=$FLEET/$1 unshare pid _
    cat /proc/sys/kernel/random/uuid >"$folder/boot_id"
    emptied "$folder/run" && mkdir -p "$folder/run"
    setsid unshare --net --mount --uts --pid --fork --kill-child --propagation private \
        bash -c "$HOST_INIT" init "$host" "$folder" "$LAB_KEPT" </dev/null >"$folder/init.log" 2>&1 &
    unshare=$!
    for _ in $(seq 100); do
        pid=$(cut -d' ' -f1 "/proc/$unshare/task/$unshare/children" 2>/dev/null)
        [ -n "$pid" ] && [ -e "$folder/run/ready" ] && break
        sleep 0.02
    done
    [ -n "$pid" ] || { echo "  $host did not start"; cat "$folder/init.log"; return 1; }
    HOST_PID[$host]=$pid
    # What runs there is ended by run.sh too: it looks in the control groups of this name.
    host_group "$unshare" "$pid"
    on "$host" ip link set lo up
    host_cable "$host" && host_plugged "$host" || return 1
    host_sshd "$host" || return 1
    engine_boot_on "$host"
}
# The cable between a host and the bridge, and what is done when it is plugged in.
host_cable() { ip link add "$1" type veth peer name eth0 netns "${HOST_PID[$1]}"; }
host_plugged() {
    ip link set "$1" master fleet0 up &&
        on "$1" ip addr add "$(host_address "$1")/24" dev eth0 &&
        on "$1" ip link set eth0 up &&
        on "$1" ip route add default via 10.77.10.254
}
# Its sshd, which listens only after the command that started it has ended.
host_sshd() {
    local _
    on "$1" /usr/sbin/sshd -f /etc/sshd_fleet -E /run/sshd.log || return 1
    for _ in $(seq 200); do [ -n "$(on "$1" ss -Hlnt 'sport = :22')" ] && return 0; sleep 0.05; done
    echo "  the sshd of $1 does not listen"
    return 1
}
# Process 1 of a host: what it is given to see, and then only taking in orphans.
HOST_INIT='
host=$1 folder=$2 kept=$3
hostname "$host"
mkdir -p "$folder/cgroup"
mount -t proc proc /proc
mount --bind "$folder/boot_id" /proc/sys/kernel/random/boot_id
mount --rbind /sys/fs/cgroup "$folder/cgroup" && mount -t sysfs sysfs /sys && mount --rbind "$folder/cgroup" /sys/fs/cgroup
umount -l "$folder/cgroup"
mkdir -p /var/lib/docker /media
# Engines that were fetched: where they lie may be covered.
mount --bind "$kept" /media
# By way of /mnt: the folder may lie below one of those that are covered.
mount --rbind "$folder" /mnt
for pair in docker:/var/lib/docker etc:/etc root:/root tmp:/tmp run:/run; do mount --bind "/mnt/${pair%%:*}" "${pair#*:}"; done
umount -l /mnt
export HOME=/root
mkdir -p /run/lock /run/sshd && touch /run/ready
while :; do sleep 3600 & wait $!; done'

host_group() {
    local controller group
    for controller in /sys/fs/cgroup/pids /sys/fs/cgroup/systemd /sys/fs/cgroup; do
        [ -w "$controller/cgroup.procs" ] || continue
        group=$controller/$LAB_GROUP-hosts
        mkdir -p "$group" || continue
        for pid in "$@"; do echo "$pid" >"$group/cgroup.procs"; done
        return
    done
}

# The engine of a host: this machine's, or the one that was unpacked for it. ENGINE_ARGUMENTS are those of all.
ENGINE_ARGUMENTS=()
engine_boot_on() {
    local host=$1 version=${HOST_ENGINE[$1]:-} program
    program=$(command -v dockerd)
    shift
    [ -z "$version" ] || program=/media/engine-$version/usr/sbin/dockerd
    on "$host" env PATH="${program%/*}:$PATH" "$program" --exec-opt native.cgroupdriver=cgroupfs \
        --cgroup-parent "/$LAB_GROUP-$host" "${ENGINE_ARGUMENTS[@]}" "$@" >>"$FLEET/$host/dockerd.log" 2>&1 &
}
host_ready() {
    local host=$1 _
    for _ in $(seq 300); do
        docker_on "$host" version >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    echo "  the engine of $host did not start:"
    tail -5 "$FLEET/$host/dockerd.log" | sed 's/^/        /'
    return 1
}

# image_on [HOST…]: the base image of the fleet (sshd, pdsh, Python, iproute2) as lab:fleet, imported where it is not stored.
image_on() {
    local host file=$LAB_FLEET pids=()
    [ "${IMAGE_KIND:-fleet}" != torch ] || file=$LAB_TORCH
    [ $# -gt 0 ] || set -- "${HOSTS[@]}"
    for host in "$@"; do
        docker_on "$host" image inspect lab:fleet >/dev/null 2>&1 && continue
        docker_on "$host" import "$file" lab:fleet >/dev/null &
        pids+=($!)
    done
    [ ${#pids[@]} -eq 0 ] || wait "${pids[@]}"
}

# Everything of the hosts ends, and their disks are emptied.
hosts_stop() {
    local host
    for host in "${HOSTS[@]}"; do host_off "$host"; done
    ip link del fleet0 2>/dev/null
    for host in "${HOSTS[@]}"; do
        emptied "$FLEET/$host"
    done
    HOSTS=() HOST_PID=() HOST_ENGINE=()
}
# host_off HOST: the plug is pulled. Its first process takes all others with it.
host_off() {
    local pid=${HOST_PID[$1]:-} _
    [ -n "$pid" ] || return 0
    host_undelayed "$1"
    kill -KILL "$pid" 2>/dev/null
    for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
    ip link del "$1" 2>/dev/null
    unset "HOST_PID[$1]"
}
# host_reboot HOST: off, and on again with the same disk.
host_reboot() { host_off "$1" && host_boot "$1" && host_ready "$1"; }

# host_cut HOST, host_join HOST: the cable.
host_cut() { ip link set "$1" down; }
host_join() { ip link set "$1" up; }
# host_block HOST PORT/PROTOCOL, host_unblock HOST PORT/PROTOCOL: a firewall that drops what comes in.
host_block() { on "$1" iptables -I INPUT -i eth0 -p "${2#*/}" --dport "${2%/*}" -j DROP; }
host_unblock() { on "$1" iptables -D INPUT -i eth0 -p "${2#*/}" --dport "${2%/*}" -j DROP; }
# host_mtu HOST BYTES: of its own interface. path_mtu HOST BYTES: of the way to it, which it knows nothing of.
host_mtu() { on "$1" ip link set eth0 mtu "$2"; }
path_mtu() { ip link set "$1" mtu "$2"; }
# host_delay HOST MILLISECONDS: a cable in which a packet and its answer take so long together (delay.py: this kernel may have no netem);
# 0 for the usual one.
host_delay() {
    host_undelayed "$1"
    ip link del "$1" 2>/dev/null
    if [ "$2" = 0 ]; then host_cable "$1" && host_plugged "$1"; return; fi
    host_slow_cable "$1" "$(awk -v both="$2" 'BEGIN { print both / 2 }')"
}
# host_damage HOST corrupt|duplicate|reorder PERCENT: a cable that does this to the UDP packets to it; `host_delay HOST 0` repairs it.
host_damage() {
    host_undelayed "$1"
    ip link del "$1" 2>/dev/null
    host_slow_cable "$1" 0 "$2" "$3"
}
host_slow_cable() {
    local host=$1 _
    shift
    python3 ./delay.py "$host" "${HOST_PID[$host]}" eth0 "$@" >"$FLEET/$host/delay.log" 2>&1 &
    set -- "$host"
    HOST_CABLE[$1]=$!
    for _ in $(seq 100); do grep -q ready "$FLEET/$1/delay.log" && break; sleep 0.05; done
    host_plugged "$1" || { cat "$FLEET/$1/delay.log"; return 1; }
}
host_undelayed() {
    [ -n "${HOST_CABLE[$1]:-}" ] || return 0
    kill "${HOST_CABLE[$1]}" 2>/dev/null
    wait "${HOST_CABLE[$1]}" 2>/dev/null
    unset "HOST_CABLE[$1]"
}
# engine_stop_on HOST: properly. engine_kill_on HOST: dockerd and its containerd at once, containers stay for the moment.
engine_stop_on() {
    local _
    on "$1" sh -c 'kill $(cat /run/docker.pid)' 2>/dev/null || return 1
    for _ in $(seq 200); do [ -e "$FLEET/$1/run/docker.pid" ] || return 0; sleep 0.1; done
    return 1
}
engine_kill_on() { on "$1" sh -c 'kill -KILL $(cat /run/docker.pid) $(cat /run/docker/containerd/containerd.pid)'; }
engine_restart_on() {
    [ ! -e "$FLEET/$1/run/docker.pid" ] || engine_stop_on "$1" || engine_kill_on "$1" 2>/dev/null
    rm -f "$FLEET/$1/run/docker.pid" "$FLEET/$1/run/docker/containerd/containerd.pid"
    engine_boot_on "$1" && host_ready "$1"
}
# disk_small_on HOST SIZE: reboots it with an empty data root of that size (`300m`), in memory. disk_full_on HOST: nothing is left on it.
disk_small_on() {
    host_off "$1"
    emptied "$FLEET/$1/docker" && mkdir "$FLEET/$1/docker"
    mount -t tmpfs -o "size=$2,mode=710" fleet "$FLEET/$1/docker" && host_boot "$1" && host_ready "$1"
}
disk_full_on() {
    # Never this machine's own disk.
    [ "$(on "$1" stat --file-system --format %T /var/lib/docker)" = tmpfs ] || { echo "    the disk of $1 is not small"; return 1; }
    on "$1" sh -c 'head -c 4G /dev/zero >/var/lib/docker/filler' 2>/dev/null
    return 0
}
# clock_off_on HOST SECONDS: the clock of everything that runs there through ssh, by libfaketime. The engine's own clock is not moved:
# Go asks the kernel, and there is one kernel.
clock_off_on() {
    local library
    library=$(find /usr/lib -name libfaketime.so.1 | head -1)
    [ -n "$library" ] || return 1
    sed -i '/^SetEnv/d' "$FLEET/$1/etc/sshd_fleet"
    [ "$2" = 0 ] || printf 'SetEnv LD_PRELOAD=%s FAKETIME=%+d\n' "$library" "$2" >>"$FLEET/$1/etc/sshd_fleet"
    # It takes its file away before it gives up the port.
    on "$1" sh -c 'pid=$(cat /run/sshd.pid) && kill "$pid" && while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done'
    host_sshd "$1"
}

# cluster_yaml [LINE…]: a cluster of all hosts without GPUs, and further lines.
cluster_yaml() {
    local host
    printf 'name: lab\nimage: lab:fleet\nnodes:\n'
    for host in "${HOSTS[@]}"; do printf -- '- {address: %s, gpus: 0, slots: 1}\n' "$(host_address "$host")"; done
    printf 'limits: {shm: 64m, memlock: 8m, nofile: 1024}\n'
    [ $# -eq 0 ] || printf '%s\n' "$@"
}
# in_cluster VERB ARGUMENT…: envdoc cluster of the file that cluster_yaml wrote to $LAB/cluster/cluster.yaml.
in_cluster() {
    local verb=$1
    shift
    LIMIT=${LIMIT:-150} envdoc cluster "$verb" --file "$LAB/cluster/cluster.yaml" "$@"
}

# left_state: what a run of envdoc may leave on the hosts and here, a line each. An engine that hangs is not waited for.
left_state() {
    local host engine
    for host in "${HOSTS[@]}"; do
        [ -n "${HOST_PID[$host]:-}" ] || continue
        engine=(timeout -k 1 4 docker --host "unix://$FLEET/$host/run/docker.sock")
        {
            "${engine[@]}" ps --all --format 'container {{.Names}} {{.State}}'
            "${engine[@]}" volume ls --format 'volume {{.Name}}'
            "${engine[@]}" network ls --format 'network {{.Name}}'
            "${engine[@]}" info --format 'swarm {{.Swarm.LocalNodeState}}' | grep active
            "${engine[@]}" image ls --format 'image {{.Repository}}:{{.Tag}}'
            "${engine[@]}" exec "$host" sh -c 'ls -d /envdoc-worker /tmp/envdoc* 2>/dev/null' | grep '^/' | sed 's/^/in its container: file /'
            # The container's init, and what a job started.
            "${engine[@]}" top "$host" -eo args | grep -E 'envdoc-worker|python|torchrun|deepspeed' | sort -u | sed 's/^/in its container: process /'
            on "$host" sh -c 'ls -d /tmp/envdoc* /root/.cache/envdoc /run/envdoc* 2>/dev/null; pgrep -a envdoc' | sed 's/^/on the machine: /'
        } 2>/dev/null | sed "s/^/$host: /"
    done
    # Running envdocs are those of the case itself.
    find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'envdoc-*' 2>/dev/null | sed 's/^/here: /'
    find "$LAB/cluster/.envdoc" -type f 2>/dev/null | sed "s|^$LAB/cluster/|here: |"
}
# faults_start [NAME]: the table of what envdoc says of faults, $LAB_KEPT/cluster-NAME.md (cluster-faults.md), from which
# docs/measurements/faults.md is taken.
faults_start() {
    FAULTS=$LAB_KEPT/cluster-${1:-faults}.md
    printf '| fault | what envdoc says | what to do | seconds |\n|---|---|---|---|\n' >"$FAULTS"
}
# fault NAME PATTERN VERB ARGUMENT…: envdoc cluster, which must not succeed, says what matches PATTERN, with something to do.
fault() {
    local name=$1 pattern=$2 says fix
    shift 2
    # exec has no report: its words are those of standard error.
    if [ "$1" = exec ]; then in_cluster "$@"; else in_cluster "$@" --format json; fi
    says=$(jq -rs '[last.problems[]?.says] | join(" / ")' <<<"$answer" 2>/dev/null)
    fix=$(jq -rs '[last | (.problems[]?, .nodes[]?).fix[]?] | join(" / ")' <<<"$answer" 2>/dev/null)
    [ -n "$says" ] || says=$(jq -rs '[last.nodes[]?.differs[]?] | join(" / ")' <<<"$answer" 2>/dev/null)
    [ -n "$says" ] || says=$(sed -n 's/^error: //p' <<<"$error")
    [ -n "$fix" ] || fix=$(sed -n 's/^hint: //p' <<<"$error")
    check_that "$name: it does not succeed" test "$code" -eq 1 -o "$code" -eq 2
    check_that "$name: named by its cause" grep -qE "$pattern" <<<"$says"
    check_that "$name: with something to do" test -n "$fix"
    echo "        ($((took / 1000)).$((took % 1000 / 100)) s) $says" | cut -c1-400
    printf '| %s | %s | %s | %s.%s |\n' "$name" "$says" "$fix" "$((took / 1000))" "$((took % 1000 / 100))" | tr '\n' ' ' >>"$FAULTS"
    echo >>"$FAULTS"
}
