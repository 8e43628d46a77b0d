# shellcheck shell=bash disable=SC2034,SC2154
# Images of another processor or content, a read-only root, a containerd that is dead or hangs: named with the node
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
TABLE=$LAB_KEPT/smoke-faults-engine.md
printf '| fault | verdict | phase | node | what envdoc says | seconds |\n|---|---|---|---|---|---:|\n' >"$TABLE"
WITH_IMAGE=node1 hosts_start 2 || return 1
mkdir -p "$LAB/cluster" "$LAB/arm" && faults_start engine-faults
offered() { check_that "$1: what to type" grep -qF -- "$2" <<<"$answer"; }

# As `docker save` writes it, with one empty layer.
python3 - "$LAB/arm.tar" <<'PYTHON'
import hashlib, io, json, sys, tarfile
layer = io.BytesIO()
tarfile.open(fileobj=layer, mode="w").close()
layer = layer.getvalue()
config = json.dumps({"architecture": "arm64", "os": "linux", "config": {}, "rootfs": {"type": "layers",
    "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
manifest = json.dumps([{"Config": "config.json", "RepoTags": ["lab:arm"], "Layers": ["layer.tar"]}]).encode()
with tarfile.open(sys.argv[1], "w") as archive:
    for name, content in ("config.json", config), ("layer.tar", layer), ("manifest.json", manifest):
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
PYTHON
docker_on node1 load --quiet --input "$LAB/arm.tar"
cluster_yaml | sed 's/lab:fleet/lab:arm/' >"$LAB/cluster/cluster.yaml"
fault "an image of another processor" 'the image is built for arm64, but node1 is x86_64' up
in_cluster down --leave-swarm >/dev/null

cluster_yaml >"$LAB/cluster/cluster.yaml"
on node1 iptables -I INPUT -i eth0 -p tcp --dport 2377 -j REJECT --reject-with tcp-reset
fault "2377/tcp is rejected" '10\.77\.10\.1:2377/tcp of node1 refuses node2: a firewall rejects it' up
on node1 iptables -F INPUT
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

docker_on node2 tag lab:fleet lab:kept
docker_on node2 load --quiet --input "$LAB/arm.tar" && docker_on node2 tag lab:arm lab:fleet
in_cluster status
check_that "another image under the same tag: status names it, with what to do" eval 'ended_with 1 &&
    grep -q "node2: its image lab:fleet differs from that of the other nodes" <<<"$answer" && grep -q "envdoc cluster up" <<<"$answer"'
grep -F "node2" <<<"$answer" | sed "s/^/        /"
in_cluster up
check_that "another image under the same tag: up: status 0" ended_with 0
check_that "another image under the same tag: up copies the first node's" same "$(docker_on node1 image inspect --format '{{.Id}}' lab:fleet)" \
    "$(docker_on node2 image inspect --format '{{.Id}}' lab:fleet)"

docker_on node1 node update --availability drain node2 >/dev/null
# That evicts tasks of services only.
in_cluster up --format json
check_that "a drained node: its container works on, and up changes nothing" same "$(jq -rs 'last.status' <<<"$answer")" unchanged
docker_on node1 node update --availability active node2 >/dev/null

docker_on node2 rm --force node2 >/dev/null
docker_on node2 run --detach --read-only --name node2 --hostname node2 --network lab-net lab:fleet sleep 600 >/dev/null
smoke_names "a container with a read-only root" failed worker '^worker: node2: .*rootfs is marked read-only'
docker_on node2 rm --force node2 >/dev/null
in_cluster up
check_that "up again: status 0" ended_with 0

# dockerd starts its own containerd again and again.
on node2 sh -c 'echo $$ >/run/killer; while :; do kill -KILL $(cat /run/docker/containerd/containerd.pid); sleep 0.05; done' 2>/dev/null &
sleep 1
smoke_names "containerd was killed" failed worker '^worker: node2: .*containerd\.sock: (connect: |timeout)'
offered "containerd was killed" 'on node2: `systemctl status containerd'
on node2 sh -c 'kill $(cat /run/killer)'
engine_restart_on node2
wait_until 60 eval '[ "$(docker_on node2 inspect --format "{{.State.Health.Status}}" node2)" = healthy ]'
on node2 sh -c 'kill -STOP $(cat /run/docker/containerd/containerd.pid)'
smoke_names "a containerd that hangs" failed containers \
    'node2: the engine at ssh://10\.77\.10\.2 cannot be used: dockerd answers, but did not report the versions of containerd and runc within 10 s'
offered "a containerd that hangs" 'systemctl restart containerd'
on node2 sh -c 'kill -CONT $(cat /run/docker/containerd/containerd.pid)'
in_cluster down --leave-swarm >/dev/null
hosts_stop
