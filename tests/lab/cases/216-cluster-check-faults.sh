# shellcheck shell=bash disable=SC2034,SC2154
# cluster check over SSH: envdoc copied to the hosts, the network between two hosts tested, each fault named
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
hosts_start 2 || return 1
export TMPDIR=$LAB/t
mkdir -p "$TMPDIR" "$LAB/cluster"
cluster=$LAB/cluster/cluster.yaml
nodes() {
    printf 'name: lab\nimage: lab:base\nstorage:\n  - from: /root/code\n    to: /workspace\n    check: same-content\nnodes:\n'
    for node in "$@"; do printf '  - {address: %s, engine: "ssh://root@%s", gpus: 0, slots: 1}\n' "${node#*=}" "${node%%=*}"; done
}
nodes node1 node2 >"$cluster"
for host in node1 node2; do on "$host" sh -c 'mkdir -p /root/code && echo same >/root/code/train.py'; done
LIMIT=180
between() { envdoc cluster check -f "$cluster" --format json "$@"; }
no_remains() { sleep 0.3; [ -z "$(find "$TMPDIR" -name 'envdoc-*')" ] && ! pgrep -f "[s]sh .*$TMPDIR/envdoc-.*/control" >/dev/null; }

between
check_that "without envdoc there: it is said, with what to do" grep -q "envdoc is not installed on node1; copy it there with --bring" <<<"$answer"
check_that "without envdoc there: nothing passes between the machines" same "$(jq '[.results[] | select(.status == "pass" and .check != "fleet-engine-differs")] | length' <<<"$answer")" 0
check_that "without envdoc there: nothing is copied without consent" eval '! on node1 test -e /root/.cache/envdoc'
between --bring
for check in same-machine hostname-taken address-unresolved ports-blocked mtu-broken clock-skew architecture-differs engine-differs content-differs; do
    check_that "healthy: fleet-$check passes" status_of "fleet-$check" pass
done
check_that "healthy: both machines were looked at" same "$(jq '[.nodes[] | select(.closed == null and .summary.pass > 2)] | length' <<<"$answer")" 2
check_that "healthy: nothing is left here" no_remains
check_that "healthy: no worker is left there" eval '! on node1 pgrep -f "envdoc worker"'
between
check_that "again: envdoc is there already" status_of fleet-ports-blocked pass

on node2 iptables -I INPUT -p udp --dport 4789 -j DROP
between
check_that "4789/udp dropped: status 1" ended_with 1
check_that "4789/udp dropped: named with its way" says fleet-ports-blocked "4789/udp (the containers' traffic, VXLAN): node1 → node2"
on node2 iptables -F INPUT
on node1 iptables -I INPUT -p tcp --dport 2377 -j REJECT --reject-with tcp-reset
between
check_that "2377/tcp rejected: named with its way" says fleet-ports-blocked "2377/tcp (joining the swarm): node2 → node1"
on node1 iptables -F INPUT
ip link set node2 mtu 1400
between
check_that "packets over 1400 bytes vanish: status 1" ended_with 1
check_that "packets over 1400 bytes vanish: named with the size" says fleet-mtu-broken "arrive up to 1400 bytes and larger ones are lost"
ip link set node2 mtu 1500
on node2 sh -c 'echo other >/root/code/train.py'
between
check_that "code differs: named with its file" says fleet-content-differs "train.py"
on node2 rm -r /root/code
between
check_that "code is missing: named with its machine" says fleet-content-differs "/root/code does not exist on node2"
on node2 sh -c 'mkdir -p /root/code && echo same >/root/code/train.py'
on node2 hostname node1
between
check_that "one host name: named" says fleet-hostname-taken "the same host name node1"
on node2 hostname node2
nodes node1 10.77.10.1 >"$cluster"
sed -i 's/address: node1/name: one, address: node1/; s/address: 10.77.10.1/name: two, address: 10.77.10.1/' "$cluster"
between
check_that "one machine named twice: named" says fleet-same-machine "are the same machine"

perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => "10.77.10.254:22", Listen => 9) or die; my @kept; while (my $c = $s->accept) { push @kept, $c }' &
for _ in $(seq 100); do [ -n "$(ss -Hlnt 'src 10.77.10.254:22')" ] && break; sleep 0.05; done
nodes node1 silent >"$cluster"
echo '10.77.10.254 silent' >>/etc/hosts
between --connect-timeout 4
check_that "a machine that accepts and says nothing: the others are looked at" same "$(jq -r '.nodes[0].closed' <<<"$answer")" null
check_that "a machine that accepts and says nothing: named" grep -q "banner exchange" <<<"$answer"
check_that "a machine that accepts and says nothing: no pass between" test "$(of fleet-ports-blocked status)" = unknown
nodes node1 node2 >"$cluster"
envdoc cluster check -f "$cluster"
check_that "text: the table and the machines" grep -q "All machines together" <<<"$answer"
sed 's/^/        /' <<<"$answer" | tail -40
hosts_stop
