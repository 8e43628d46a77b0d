# shellcheck shell=bash disable=SC2034,SC2154
# The rendered compose files make the containers that `up` makes: docker inspect of both, side by side
# needs: fleet engine-26.1
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
compose=$LAB_KEPT/engine-26.1/usr/libexec/docker/cli-plugins/docker-compose
[ -x "$compose" ] || { skip "docker-compose 2.26 is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster" "$FLEET/node1/root/code" "$FLEET/node2/root/code"
cluster_yaml 'environment: {NCCL_DEBUG: WARN}' 'storage: [{from: /root/code, to: /workspace, read_only: true}]' >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
in_cluster render --output "$LAB/cluster/rendered"
check_that "render: status 0" ended_with 0
# What is no setting: names and times of this one container, compose's own labels, the label by which `status` names the field that differs
# (a container made by compose differs in "its description"), an empty list that is written as none, the network's id
# in place of its name (networks has the name), and the order of limits.
told='.[0] | {
    config: (.Config | del(.Image, .AttachStdout, .AttachStderr) | .Env |= sort | .Cmd |= (. // [])
        | .Labels |= with_entries(select(.key | startswith("com.docker.compose") or . == "envdoc.plan.fields" | not))),
    image: .Image,
    host: (.HostConfig | del(.Binds, .Mounts, .NetworkMode) | .Ulimits |= sort_by(.Name) | .Tmpfs["/run/envdoc"] |= sub("=0"; "=")
        | .CapAdd |= (. // []) | .Devices |= (. // []) | .ExtraHosts |= (. // []) | .PortBindings |= (. // {})),
    mounts: ([.Mounts[] | {Type, Name, Source, Destination, RW}] | sort_by(.Destination)),
    networks: (.NetworkSettings.Networks | keys), aliases: ([.NetworkSettings.Networks[].Aliases[]? | select(startswith("node"))] | unique)}'
for host in node1 node2; do
    docker_on "$host" inspect "$host" | jq -S "$told" >"$LAB/by-up-$host"
    docker_on "$host" rm --force "$host" >/dev/null
    # As the rendered README says: on a worker an overlay is there as long as a container is attached to it.
    [ "$host" = node1 ] || docker_on "$host" run --detach --name lab-net-seen --network lab-net --entrypoint sleep lab:fleet 3600 >/dev/null
    "$compose" --host "unix://$FLEET/$host/run/docker.sock" --file "$LAB/cluster/rendered/$host/compose.yaml" up --detach >"$LAB/compose.log" 2>&1
    ended=$?
    check_that "$host: docker compose up: status 0" test "$ended" -eq 0
    [ "$host" = node1 ] || docker_on "$host" rm --force lab-net-seen >/dev/null
    [ "$ended" -eq 0 ] || { sed 's/^/        /' "$LAB/compose.log"; continue; }
    docker_on "$host" inspect "$host" | jq -S "$told" >"$LAB/by-compose-$host"
    check_that "$host: the same container" cmp -s "$LAB/by-up-$host" "$LAB/by-compose-$host"
    diff --unified=1 "$LAB/by-up-$host" "$LAB/by-compose-$host" | sed 's/^/        /'
done
for _ in $(seq 60); do
    [ "$(for host in node1 node2; do docker_on "$host" inspect --format '{{.State.Health.Status}}' "$host" 2>/dev/null; done | xargs)" = "healthy healthy" ] && break
    sleep 0.5
done
in_cluster status
check_that "status takes them for the cluster's" ended_with 0
in_cluster up --format json
check_that "up keeps them as they are" same "$(jq -r .status <<<"$answer")" unchanged
in_cluster down --leave-swarm
check_that "down removes them" eval 'ended_with 0 && [ -z "$(docker_on node1 ps --all --quiet)$(docker_on node2 ps --all --quiet)" ]'
hosts_stop
