# shellcheck shell=bash disable=SC2034,SC2154
# A node whose engine is Podman: every command for clusters says so and what it needs, and nothing is changed on any node
# needs: fleet
# PODMAN: the program, for the case that tries another than the machine's own; PODMAN_ROOT: the folder that is its /.
[ -n "${PODMAN:-}" ] || command -v podman >/dev/null || { skip "no Podman on this machine (apt-get install podman)"; return 0; }
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=node1 hosts_start 2 || return 1
# shellcheck disable=SC2016
[ -z "${PODMAN_ROOT:-}" ] ||
    on node2 sh -c 'for folder in proc sys dev run; do mount --rbind "/$folder" "$1/$folder" || exit 1; done' sh "$PODMAN_ROOT" || return 1
# As the package podman-docker does it: Podman's socket under the name of Docker's.
engine_stop_on node2
# shellcheck disable=SC2206
pod=(${PODMAN:-podman} --root /var/lib/docker/podman --runroot /run/podman-lab --storage-driver overlay --cgroup-manager cgroupfs)
on node2 "${pod[@]}" system service --time 0 unix:///run/docker.sock >"$LAB/podman.log" 2>&1 &
wait_until 20 docker_on node2 version >/dev/null 2>&1
check_that "Podman listens at Docker's socket of node2" grep -q '^Podman' < <(docker_on node2 version --format '{{range .Server.Components}}{{println .Name}}{{end}}' 2>&1)
echo "    Podman $(on node2 "${pod[@]}" version --format '{{.Client.Version}}' 2>/dev/null)"
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
untouched() {
    same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}') $(docker_on node1 ps -aq | wc -l) $(docker_on node1 volume ls -q | wc -l) $(docker_on node2 ps -aq | wc -l)" \
        "inactive 0 0 0"
}
# refused STATUS WHAT: what the last command said.
refused() {
    check_that "$2: status $1" ended_with "$1"
    check_that "$2: Podman is named, and the node" grep -qE 'engine at ssh://10\.77\.10\.2 is Podman [0-9.]+; it has no swarm mode' <<<"$answer$error"
    check_that "$2: what to do" grep -q 'Install Docker 20.10 or newer on node2' <<<"$answer$error"
    check_that "$2: nothing was changed" untouched
    echo "        ($((took / 1000)).$((took % 1000 / 100)) s) $(grep -m1 'is Podman' <<<"$answer$error" | cut -c1-220)"
}
for verb in up status down; do
    in_cluster "$verb"
    refused 1 "$verb"
done
in_cluster up --dry-run
refused 1 "up --dry-run"
in_cluster exec all -- true
refused 255 exec
in_cluster logs
refused 1 logs
in_cluster launch -- train.py
refused 2 launch
envdoc smoke --file "$LAB/cluster/cluster.yaml"
refused 1 smoke
hosts_stop
