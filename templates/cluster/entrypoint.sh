#!/bin/sh
# envdoc's entrypoint: pins the network interface, starts the SSH server, then runs the command, or waits until it is stopped.
# It and its settings are read-only in /etc/envdoc; the files it writes are in /run/envdoc (tmpfs).
set -eu

settings=/etc/envdoc
run=/run/envdoc

say() { printf 'envdoc: %s\n' "$*" >&2; }
fail() { say "$*"; exit 78; }

# Empty interface: detect it. Empty ssh_port: no SSH server.
node='' network='' address='' interface='' ssh_port='' ssh_user=''
# shellcheck source=/dev/null
. "$settings/node"

# The address of this container in the cluster network: with host networking the host's address, else the one that the engine wrote to
# /etc/hosts for the host name (it writes none for docker_gwbridge).
own_address() {
    if [ "$network" = host ]; then
        echo "$address"
    else
        awk -v name="$node" '$1 !~ /^(127\.|::1$)/ { for (i = 2; i <= NF; i++) if ($i == name) { print $1; exit } }' /etc/hosts
    fi
}

# The interface with that address, from `ip`; without it from the routes in /proc, which name the interface connected to the network of the
# address. Prints nothing if two interfaces match.
interface_of() {
    if command -v ip >/dev/null 2>&1; then
        ip -o addr show to "$1" 2>/dev/null | awk '{ sub(/@.*/, "", $2); print $2; exit }'
        return
    fi
    case $1 in *:*) return ;; esac
    awk -v ip="$1" '
        function hex(text,   value, i) {
            value = 0
            for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789ABCDEF", substr(text, i, 1)) - 1
            return value
        }
        # /proc writes the four bytes of an address in the order of the machine, lowest first.
        function part(text, byte) { return hex(substr(text, 7 - 2 * byte, 2)) }
        # One byte of an address within the mask: masks are whole runs of ones, so it is a multiple of 256 - mask.
        function within(byte, mask) { return mask == 0 ? 0 : byte - byte % (256 - mask) }
        BEGIN { split(ip, own, ".") }
        NR > 1 && $3 == "00000000" && $8 != "00000000" {
            same = 1
            for (i = 0; i < 4; i++) if (within(own[i + 1], part($8, i)) != part($2, i)) same = 0
            if (same) { found[$1] = 1; name = $1 }
        }
        END { for (one in found) count++; if (count == 1) print name }' /proc/net/route
}

# NCCL gets nccl.conf, which every node reads itself: DeepSpeed's launcher would overwrite a variable with the NCCL_* of the first node.
# Gloo supports only a variable, which the launcher does not change.
pin_interface() {
    [ -z "$interface" ] || return 0
    own=$(own_address)
    if [ -z "$own" ]; then
        say "no address of $node in /etc/hosts: the interface for NCCL and Gloo is not pinned"
        return
    fi
    found=$(interface_of "$own")
    if [ -z "$found" ]; then
        say "no single interface has $own: the interface for NCCL and Gloo is not pinned"
        return
    fi
    say "interface $found has $own, the address of $node"
    if [ -z "${GLOO_SOCKET_IFNAME:-}" ]; then
        export GLOO_SOCKET_IFNAME="$found"
    fi
    if [ -z "${NCCL_SOCKET_IFNAME:-}" ]; then
        if [ "$(id -u)" = 0 ]; then
            touch /etc/nccl.conf
            { grep -v '^NCCL_SOCKET_IFNAME=' /etc/nccl.conf || true; printf 'NCCL_SOCKET_IFNAME==%s\n' "$found"; } >"$run/nccl.conf"
            cat "$run/nccl.conf" >/etc/nccl.conf
        else
            export NCCL_SOCKET_IFNAME="=$found"
        fi
    fi
}

# The environment for later processes: as a shell script for /etc/envdoc/enter, and as one SetEnv line for sshd, whose sessions start without
# the container's variables. Reports variables that SetEnv cannot represent.
write_environment() {
    awk -v shell="$run/environment" -v sshd="$run/setenv" '
        BEGIN {
            split("HOME USER LOGNAME SHELL PWD OLDPWD SHLVL TERM MAIL HOSTNAME _", names, " ")
            for (i in names) skip[names[i]] = 1
            line = "SetEnv"
            printf "" >shell
            for (name in ENVIRON) {
                if (name in skip || name ~ /^SSH_/ || name !~ /^[A-Za-z_][A-Za-z0-9_]*$/) continue
                value = ENVIRON[name]
                quoted = value
                gsub(/\047/, "\047\\\047\047", quoted)
                printf "export %s=\047%s\047\n", name, quoted >shell
                if (value ~ /["\\\n\r]/) { printf "envdoc: %s is not set in SSH sessions: it has a quote, a backslash or a line break\n", name >"/dev/stderr"; continue }
                line = line " \"" name "=" value "\""
            }
            print line >sshd
        }' </dev/null
}

# Installs keys, secrets and configuration where sshd and ssh expect them, owned by the login user.
prepare_user() {
    home=$(getent passwd "$ssh_user" | cut -d: -f6)
    [ -n "$home" ] || fail "the image has no user $ssh_user (ssh.user of cluster.yaml)"
    install -o "$ssh_user" -m 0600 "$settings/ssh/id_ed25519" "$run/id_ed25519"
    # Without PAM, sshd refuses users whose password is locked with `!` (the default of useradd); `*` disables the password without locking.
    case $(getent shadow "$ssh_user" | cut -d: -f2) in '!'*) usermod -p '*' "$ssh_user" ;; esac
    mkdir -p /etc/ssh/ssh_config.d
    ln -sf "$settings/ssh/config" /etc/ssh/ssh_config.d/00-envdoc.conf
    if ! grep -qs '^Include /etc/ssh/ssh_config.d/' /etc/ssh/ssh_config; then
        { echo 'Include /etc/ssh/ssh_config.d/*.conf'; cat /etc/ssh/ssh_config 2>/dev/null || true; } >"$run/ssh_config"
        cat "$run/ssh_config" >/etc/ssh/ssh_config
    fi
}

copy_secrets() {
    for file in "$settings"/secrets/*; do
        [ -f "$file" ] || continue
        install -o "${ssh_user:-root}" -m 0400 "$file" "/run/secrets/${file##*/}"
    done
}

server=
start_sshd() {
    sshd=$(command -v sshd || echo /usr/sbin/sshd)
    if [ ! -x "$sshd" ]; then
        # `envdoc cluster up` reads this line.
        echo 'ENVDOC {"fault": "no-sshd"}'
        fail "the image has no sshd: install openssh-server in it, or use launcher torchrun without ssh"
    fi
    mkdir -p /run/sshd
    cat "$settings/ssh/sshd_config" "$run/setenv" >"$run/sshd_config"
    "$sshd" -t -f "$run/sshd_config" || fail "sshd refuses its configuration"
    # The health check reads the host key every few seconds, and sshd would log each connection.
    [ -p "$run/log" ] || mkfifo "$run/log"
    grep --line-buffered -Ev "^Connection closed by (127[.]0[.]0[.]1|$address) port [0-9]+ \\[preauth\\]" <"$run/log" >&2 &
    "$sshd" -D -e -f "$run/sshd_config" 2>"$run/log" &
    server=$!
}

command=
end() {
    [ -z "$command" ] || kill -s "$1" "$command" 2>/dev/null || true
    [ -n "$command" ] || stopped=yes
    [ -n "$command" ] || [ -z "$server" ] || kill "$server" 2>/dev/null || true
}
stopped=
for signal in TERM INT QUIT HUP USR1 USR2; do
    # shellcheck disable=SC2064
    trap "end $signal" "$signal"
done

pin_interface
if [ "$(id -u)" = 0 ]; then
    [ -z "$ssh_port" ] || prepare_user
    copy_secrets
fi
write_environment
[ -z "$ssh_port" ] || start_sshd

if [ $# -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && [ -n "$ssh_user" ] && [ "$ssh_user" != root ]; then
        set -- setpriv --reuid="$ssh_user" --regid="$(id -g "$ssh_user")" --init-groups env HOME="$home" USER="$ssh_user" "$@"
    fi
    "$@" &
    command=$!
    # A signal interrupts `wait`: repeat it until the command has ended.
    while code=0; wait "$command" || code=$?; kill -0 "$command" 2>/dev/null; do :; done
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    exit "$code"
fi

say "$node is ready${ssh_port:+, SSH on port $ssh_port}"
if [ -n "$server" ]; then
    while code=0; wait "$server" || code=$?; kill -0 "$server" 2>/dev/null; do :; done
    [ -z "$stopped" ] || exit 0
    fail "sshd ended by itself, status $code"
fi
while [ -z "$stopped" ]; do
    sleep 3600 &
    wait $! || true
done
