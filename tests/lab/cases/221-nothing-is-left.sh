# shellcheck shell=bash disable=SC2034,SC2154
# What down leaves is listed, down --purge removes it; what a killed run left is removed by the next; unreachable nodes are an exit code
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
rm -rf "$LAB/cluster"
mkdir -p "$LAB/cluster" "$LAB/t" && cluster_yaml >"$LAB/cluster/cluster.yaml"
export TMPDIR=$LAB/t
shown() { [ "$code" -eq "$1" ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'; }
flat() { tr -s '\n ' ' ' <<<"$answer"; }
in_cluster check --bring
check_that "check --bring: envdoc is there" on node1 test -d /root/.cache/envdoc

timeout 60 /run/lab/envdoc cluster up --file "$LAB/cluster/cluster.yaml" >/dev/null 2>&1 &
running=$!
for _ in $(seq 100); do [ -n "$(docker_on node1 volume ls --quiet --filter label=envdoc.lock)" ] && break; sleep 0.05; done
pkill -KILL -f "^/run/lab/envdoc cluster up --file $LAB"
wait "$running"
left=$(find "$TMPDIR" -maxdepth 1 -name 'envdoc-*' | wc -l)
check_that "killed: folders are left" test "$left" -gt 0
in_cluster up
check_that "after a killed run: up: status 0" ended_with 0
shown 0
check_that "folders that were just left may be somebody's" test "$(find "$TMPDIR" -maxdepth 1 -name 'envdoc-*' | wc -l)" -gt 0
find "$TMPDIR" -maxdepth 1 -name 'envdoc-*' -exec touch --date '2 minutes ago' {} +
in_cluster status
check_that "a later run removes them" same "$(find "$TMPDIR" -maxdepth 1 -name 'envdoc-*')" ""

in_cluster down
check_that "down: status 0" ended_with 0
for kept in 'kept the swarm of node1, which envdoc created' 'kept the SSH keys in' 'kept the copy of envdoc in ~/.cache/envdoc on node1' \
    'kept the image lab:fleet on node1, node2'; do
    check_that "down: $kept" eval 'grep -qF "$kept" < <(flat)'
done
on node1 sh -c 'mkdir -p /root/.cache/envdoc/catalog && touch /root/.cache/envdoc/catalog/rows'
in_cluster down --purge
check_that "down --purge: status 0" ended_with 0
shown 0
check_that "down --purge: no swarm" same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}') $(docker_on node2 info --format '{{.Swarm.LocalNodeState}}')" \
    "inactive inactive"
check_that "down --purge: no keys" same "$(find "$LAB/cluster/.envdoc/ssh" -type f)" ""
check_that "down --purge: no copy of envdoc" same "$(on node1 find /root/.cache/envdoc -name envdoc-worker; on node2 find /root/.cache/envdoc 2>/dev/null)" ""
check_that "down --purge: another cache is kept" on node1 test -e /root/.cache/envdoc/catalog/rows
in_cluster down --purge
check_that "down --purge again: status 0" ended_with 0
check_that "down --purge again: the image alone is kept" eval 'grep -qF "kept the image" < <(flat) && ! grep -qE "kept the (swarm|SSH keys|copy)" < <(flat)'

# Nodes that cannot be reached.
host_cut node2
in_cluster check
check_that "a node is unreachable: check: status 3" ended_with 3
check_that "a node is unreachable: it is first in the report" eval 'grep -q "node2 .*UNREACHABLE" < <(head -3 <<<"$answer")'
check_that "a node is unreachable: one line for its cause" same "$(grep -c '^? node2: ' <<<"$answer")" 1
check_that "a node is unreachable: its checks are not listed" eval '! grep -qE "^node2 .*unknown" <<<"$answer"'
head -12 <<<"$answer" | sed 's/^/        /'
in_cluster check --format json
check_that "a node is unreachable: in JSON" same "$(jq -r '[.nodes[].access] | join(" ")' <<<"$answer")" "not-inspected unreachable"
envdoc cluster init --nodes 10.77.10.1,10.77.10.2 --image lab:fleet --name lab --output "$LAB/cluster/new.yaml"
check_that "a node is unreachable: init: status 2" ended_with 2
check_that "a node is unreachable: init names it" grep -q '10.77.10.2.*UNREACHABLE' <<<"$error"
check_that "a node is unreachable: init writes nothing" test ! -e "$LAB/cluster/new.yaml"
envdoc cluster init --nodes 10.77.10.1,10.77.10.2 --image lab:fleet --name lab --gpus 0 --output "$LAB/cluster/new.yaml"
check_that "a node is unreachable: init --gpus: status 3" ended_with 3
check_that "a node is unreachable: init --gpus writes the file" test -s "$LAB/cluster/new.yaml"
host_join node2
# One cause on several nodes is one line.
for host in node1 node2; do on "$host" sh -c 'pid=$(cat /run/sshd.pid) && kill "$pid" && while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done'; done
cluster_yaml | sed 's/address: 10/engine: "ssh:\/\/root@10.77.10.1", address: 10/; s/10.77.10.1", address: 10.77.10.2/10.77.10.2", address: 10.77.10.2/' >"$LAB/cluster/two.yaml"
together='node1, node2 (2 nodes): ssh: Connection refused; for example node1: '
for verb in check status; do
    LIMIT=60 envdoc cluster "$verb" --file "$LAB/cluster/two.yaml"
    check_that "two nodes refuse the connection: $verb: one line" same "$(grep -c 'Connection refused' < <(flat | sed 's/ [x✗?] /\n/g'))" 1
    check_that "two nodes refuse the connection: $verb: both, and the cause" eval 'grep -qF "$together" < <(flat)'
    check_that "two nodes refuse the connection: $verb: after the table" grep -q '^node1  *\(not reached\|ssh://\)' <<<"$answer"
done
head -12 <<<"$answer" | sed 's/^/        /'
envdoc cluster init --nodes 10.77.10.1,10.77.10.2 --image lab:fleet --name lab --output "$LAB/cluster/none.yaml"
check_that "two nodes refuse the connection: init: one line" eval 'grep -qF "(2 nodes): ssh: Connection refused" < <(tr -s "\n " " " <<<"$error")'
# Five nodes and two causes: a table of the nodes, and a line for each cause, from every command.
{
    printf 'name: five\nimage: lab:fleet\nnodes:\n'
    number=0
    for engine in root@10.77.10.1 nosuch1.invalid root@10.77.10.2 nosuch2.invalid root@10.77.10.1:2299; do
        number=$((number + 1))
        printf -- '- {address: 10.77.10.%s, engine: "ssh://%s", gpus: 0, slots: 1}\n' "$number" "$engine"
    done
} >"$LAB/cluster/five.yaml"
for verb in 'cluster up' 'cluster status' 'cluster down' 'cluster launch' 'cluster logs' 'cluster check' smoke; do
    last=()
    [ "$verb" != 'cluster launch' ] || last=(-- /workspace/train.py)
    # shellcheck disable=SC2086
    LIMIT=90 envdoc $verb --file "$LAB/cluster/five.yaml" "${last[@]}"
    shown=$(printf '%s\n%s\n' "$answer" "$error" | tr -s '\n ' ' ')
    check_that "five nodes, two causes: $verb: no success" test "$code" -ne 0
    check_that "five nodes, two causes: $verb: a table" same "$(grep -cE '^node[1-5] .*(UNREACHABLE|not reached)' < <(printf '%s\n%s\n' "$answer" "$error"))" 5
    for cause in 'node1, node3, node5 (3 nodes): ssh: Connection refused; for example node1: ' \
        'node2, node4 (2 nodes): ssh: the host name cannot be resolved; for example node2: '; do
        check_that "five nodes, two causes: $verb: ${cause%%:*}" eval 'grep -qF "$cause" <<<"$shown"'
    done
    # Smoke repeats it in its verdict.
    check_that "five nodes, two causes: $verb: no line for a node alone" eval '! grep -qE "[x✗?] (connect )?node[1-5]: " <<<"$shown"'
    [ "$verb" != 'cluster up' ] || printf '%s\n%s\n' "$answer" "$error" | cut -c1-200 | sed 's/^/        /'
done
host_cut node2
host_cut node1
in_cluster check --fail-on never
check_that "no node is reachable: check: status 3" ended_with 3
hosts_stop
