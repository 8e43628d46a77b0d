# shellcheck shell=bash disable=SC2034,SC2154
# SSH to a node that fails, answers late or prints noise, and addresses in /etc/hosts that are wrong: named with the node, or harmless
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
faults_start ssh-faults
etc=$FLEET/node2/etc root=$FLEET/node2/root
cp "$etc/sshd_fleet" "$etc/sshd_plain"
sshd_off() { on node2 sh -c 'pid=$(cat /run/sshd.pid) && kill "$pid" && while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done'; }
# sshd_with LINE…: the sshd of node2 with these lines in addition to its own.
sshd_with() {
    { printf '%s\n' "$@" && cat "$etc/sshd_plain"; } >"$etc/sshd_fleet"
    [ ! -e "$FLEET/node2/run/sshd.pid" ] || sshd_off
    host_sshd node2
}
# harmless NAME: what does no harm is not called a fault.
harmless() {
    in_cluster up --dry-run
    check_that "$1: it works" ended_with 0
    echo "        ($((took / 1000)).$((took % 1000 / 100)) s)"
}
offered() { check_that "$1: what to type" grep -qF -- "$2" <<<"$answer"; }
no_banner() { check_that "$1: the banner is no reason" not grep -q LAB7 <<<"$answer"; }

harmless "nothing is wrong"
sshd_off
fault "the sshd of a node does not run" '10\.77\.10\.2.*Connection refused' status
sshd_with

mv "$root/.ssh/authorized_keys" "$root/kept"
fault "sshd refuses the key" '10\.77\.10\.2.*Permission denied \(publickey' status
offered "sshd refuses the key" ssh-copy-id
mv "$root/kept" "$root/.ssh/authorized_keys"

mkdir "$LAB/kept" && mv "$etc"/host_key* "$LAB/kept/"
ssh-keygen -q -t ed25519 -N '' -f "$etc/host_key" && sshd_with
fault "the host key of a node changed" 'the host key of 10\.77\.10\.2 has changed' status
offered "the host key of a node changed" "ssh-keygen -R"
mv "$LAB/kept"/host_key* "$etc/"

echo 'Welcome to LAB7. Permission denied (to strangers)' >"$etc/banner"
sshd_with "Banner /etc/banner"
printf 'echo noise\necho noise >&2\n' >"$root/.bashrc"
harmless "a banner and a .bashrc that prints"
printf 'read -t 3 x\nexit 0\n' >"$root/.bashrc"
fault "a .bashrc that ends the shell, behind a banner" '10\.77\.10\.2.*ended with status 0 before it ran the command' status
no_banner "a .bashrc that ends the shell"
sshd_with
fault "a .bashrc that ends the shell" '10\.77\.10\.2.*ended with status 0 before it ran the command' status
echo 'yes "a line of noise" >&2' >"$root/.bashrc"
fault "a .bashrc that prints on standard error without end" '10\.77\.10\.2 printed more than 8 MiB on standard error before it ran the command' status
check_that "a .bashrc that prints without end: before the deadline" within_ms 18000
offered "a .bashrc that prints without end" '2>&1 >/dev/null | head'
rm "$root/.bashrc"
# What no rule of envdoc knows: the words of a program in the way.
cp /run/lab/root/.ssh/config "$LAB/kept/config"
cat - "$LAB/kept/config" >/run/lab/root/.ssh/config <<'CONFIG'
Host 10.77.10.2
    ProxyCommand sh -c 'printf "first line\n\033[31mjump: quota of LAB9 is used up\n" >&2; sleep 1'
CONFIG
fault "a ProxyCommand that fails in its own words" \
    'last line on its standard error: "\\x1b\[31mjump: quota of LAB9 is used up"' status
cat "$LAB/kept/config" >/run/lab/root/.ssh/config

sshd_with "Banner /etc/banner"
cp "$etc/passwd" "$LAB/kept/" && sed -i 's|^\(root:.*\):[^:]*$|\1:/usr/sbin/nologin|' "$etc/passwd"
fault "a login shell that allows no login, behind a banner" '10\.77\.10\.2 has a login shell that allows no login' status
no_banner "a login shell that allows no login"
cat "$LAB/kept/passwd" >"$etc/passwd"

# sshd asks it for the key and again for the signature, some versions a third time; envdoc waits 20 s.
printf '#!/bin/sh\nsleep 3\ncat /root/.ssh/authorized_keys\n' >"$etc/slow_keys" && chmod 755 "$etc/slow_keys"
sshd_with "AuthorizedKeysFile none" "AuthorizedKeysCommand /etc/slow_keys" "AuthorizedKeysCommandUser root"
harmless "a login that takes 6 s"
check_that "a login that takes 6 s: it did take that long" test "$took" -gt 6000
sshd_with

# /etc/hosts: of this machine, and of a node.
sed -i 's/address: 10.77.10.\([12]\)/name: node\1, address: node\1/' "$LAB/cluster/cluster.yaml"
in_cluster check --bring --format json
check_that "names that are right: the check passes" status_of fleet-address-unresolved pass
sed -i 's/^10.77.10.2 node2$/10.77.10.99 node2/' /etc/hosts
fault "this machine's /etc/hosts has a wrong address for a node" 'node2.*(No route to host|timed out); line [0-9]+ of /etc/hosts on this machine gives node2 the address 10.77.10.99' status
sed -i 's/^10.77.10.99 node2$/10.77.10.2 node2/' /etc/hosts
sed -i 's/^10.77.10.2 node2$/10.77.10.1 node2/' "$FLEET/node1/etc/hosts"
in_cluster check --format json
check_that "a node's /etc/hosts is wrong: status 1" ended_with 1
check_that "a node's /etc/hosts is wrong: named with the node and the address" \
    says fleet-address-unresolved 'on node1, node2 resolves to 10.77.10.1, an address of node1 and not of node2'
echo "        ($((took / 1000)).$((took % 1000 / 100)) s) $(of fleet-address-unresolved says)"
hosts_stop
