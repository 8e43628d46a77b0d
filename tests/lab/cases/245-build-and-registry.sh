# shellcheck shell=bash disable=SC2034,SC2154
# `up` builds the image and brings it through a registry; nodes over TCP with TLS, and over SSH as a user that is not root
# needs: fleet
# slow
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# An engine accepts a registry without TLS only where its configuration says so.
ENGINE_ARGUMENTS=(--insecure-registry 10.77.10.254:5000)
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster/context" "$LAB/registry"
printf 'version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "10.77.10.254:5000"}\n' "$LAB/registry" >"$LAB/registry.yml"
docker-registry serve "$LAB/registry.yml" >"$LAB/registry.log" 2>&1 &
registry=$!

# node1 over TCP with TLS, node2 over SSH as ann of the group docker.
make_tls() {
    mkdir -p "$FLEET/node1/etc/tls" "$LAB/cluster/tls" && cd "$FLEET/node1/etc/tls" || return
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9 -subj /CN=authority -keyout ca.key -out ca.pem
    signed() {
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
        printf '%s\n' "$2" >"$1.ext"
        openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 -extfile "$1.ext" -out "$1.pem"
    }
    signed server 'subjectAltName=IP:10.77.10.1'
    signed client 'extendedKeyUsage=clientAuth'
    cp ca.pem "$LAB/cluster/tls/" && cp client.pem "$LAB/cluster/tls/cert.pem" && cp client.key "$LAB/cluster/tls/key.pem"
}
(make_tls) >/dev/null 2>&1
engine_stop_on node1 && engine_boot_on node1 -H unix:///var/run/docker.sock -H tcp://10.77.10.1:2376 --tlsverify \
    --tlscacert /etc/tls/ca.pem --tlscert /etc/tls/server.pem --tlskey /etc/tls/server.key && host_ready node1 || return 1
on node2 sh -c 'useradd --create-home --home-dir /tmp/ann --shell /bin/bash ann; usermod -p "*" ann; groupadd -f docker; usermod -aG docker ann
    chown root:docker /run/docker.sock; install -d -o ann -m 700 /tmp/ann/.ssh; install -o ann -m 600 /root/.ssh/authorized_keys /tmp/ann/.ssh/authorized_keys'

printf 'FROM lab:fleet\nRUN echo one >/built\nCOPY data /data\n' >"$LAB/cluster/context/Dockerfile"
echo content >"$LAB/cluster/context/data"
ask_for() {
    cluster_yaml "$@" | sed -e '/^image:/d' -e 's|address: 10.77.10.1,|address: 10.77.10.1, engine: "tcp://10.77.10.1:2376", tls: tls,|' \
        -e 's|address: 10.77.10.2,|address: 10.77.10.2, engine: "ssh://ann@10.77.10.2",|' >"$LAB/cluster/cluster.yaml"
}
ask_for 'build: context/Dockerfile' 'registry: 10.77.10.254:5000/team'
in_cluster up --dry-run
check_that "dry run: it would be built and pulled" eval 'ended_with 0 && grep -q "build 10.77.10.254:5000/team/lab:envdoc" <<<"$answer"'
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | tail -40 | sed 's/^/        /'
check_that "up: it was built on the first node, as envdoc build does" grep -q 'built 10.77.10.254:5000/team/lab:envdoc from' <<<"$error"
check_that "up: it was pushed" grep -q 'image *node1 *pushed 10.77.10.254:5000/team/lab:envdoc' <<<"$error"
check_that "up: the other node pulled it" grep -q 'image *node2 *pulled from its registry' <<<"$error"
check_that "up: the registry has it" test -d "$LAB/registry/docker/registry/v2/repositories/team/lab"
in_cluster exec all -- cat /built /data
check_that "up: the containers are of that image" same "$(grep -c 'one\|content' <<<"$answer")" 4
in_cluster up --format json
check_that "up again: nothing is built, nothing changes" same "$(jq -r .status <<<"$answer")" unchanged
sed -i 's/echo one/echo two/' "$LAB/cluster/context/Dockerfile"
in_cluster up
check_that "another Dockerfile: status 0" ended_with 0
in_cluster exec all -- cat /built
check_that "another Dockerfile: containers of the new image on both" same "$(grep -c two <<<"$answer")" 2
kill "$registry"
sed -i 's/echo two/echo three/' "$LAB/cluster/context/Dockerfile"
in_cluster up
check_that "the registry is gone: from engine to engine, and it is said" eval 'ended_with 0 && grep -q "rejected the push" <<<"$answer$error"'
printf 'FROM lab:fleet\nRUN exit 3\n' >"$LAB/cluster/context/Dockerfile"
in_cluster up
check_that "a build that fails: status 1, and the same by hand" eval 'ended_with 1 && grep -q "envdoc build .*--file" <<<"$answer$error"'

in_cluster check --bring --format json --fail-on never
check_that "check: status 0" ended_with 0
check_that "check: of the TCP node the engine alone is seen" same "$(jq -r '.nodes[0].closed' <<<"$answer" | grep -c 'only the Docker engine of node1 is reachable')" 1
check_that "check: ann's machine is looked at" same "$(jq -r '.nodes[1].closed' <<<"$answer")" null
check_that "check: the TCP node's engine is compared with the other's" status_of fleet-engine-differs pass
envdoc cluster init --nodes 10.77.10.2 --user ann --image lab:fleet --name two --bring --output -
check_that "init looks at ann's machine over SSH" eval 'ended_with 0 && grep -q "10.77.10.2 is on eth0, mtu 1500" <<<"$answer"'
[ "$code" -eq 0 ] && grep -E '^ *#|address' <<<"$answer" | head -12 | sed 's/^/        /'
printf 'FROM lab:fleet\n' >"$LAB/cluster/context/Dockerfile"
in_cluster down --leave-swarm
check_that "down: status 0" ended_with 0
hosts_stop
emptied "$LAB/registry"
