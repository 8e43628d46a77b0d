# shellcheck shell=bash disable=SC2034,SC2154
# What is wrong with a cluster is named by its cause, with what to do
# long
# needs: fleet
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
WITH_IMAGE=all hosts_start 2 || return 1
mkdir -p "$LAB/cluster"
ask_for() { cluster_yaml "$@" >"$LAB/cluster/cluster.yaml"; }
faults_start
again() { in_cluster down --leave-swarm >/dev/null; }

ask_for && sed -i 's/10.77.10.2/nosuch.invalid/' "$LAB/cluster/cluster.yaml"
fault "a name that cannot be resolved" 'nosuch\.invalid' up

on node2 python3 -c 'import socket, time
l = socket.create_server(("", 9999)); kept = []
while True: kept.append(l.accept())' &
for _ in $(seq 50); do grep -q :9999 < <(on node2 ss -lnt) && break; sleep 0.1; done
ask_for && sed -i 's|address: 10.77.10.2|address: 10.77.10.2, engine: "tcp://10.77.10.2:9999"|' "$LAB/cluster/cluster.yaml"
fault "a node that accepts TCP and never answers" '10\.77\.10\.2.*(did not answer|no answer|answer)' up
check_that "a node that never answers: within 60 s" within_ms 60000

ask_for && sed -i 's/lab:fleet/lab:nosuch/' "$LAB/cluster/cluster.yaml"
fault "an image that no node has" 'lab:nosuch' up
again

ask_for && docker_on node2 swarm init --advertise-addr 10.77.10.2 >/dev/null
fault "a worker that is in another swarm" 'node2.*(another|other|different) swarm' up
check_that "the other swarm is left alone" same "$(docker_on node2 info --format '{{.Swarm.LocalNodeState}}')" active
docker_on node2 swarm leave --force >/dev/null && again

ask_for && host_block node1 2377/tcp
fault "2377/tcp blocked" '2377' up
host_unblock node1 2377/tcp && again

ask_for 'network: {subnet: 10.77.10.0/24}'
fault "the overlay's subnet is the machines' own" '10\.77\.10\.0/24 contains 10\.77\.10\.1' up
again

ask_for && on node1 true && sed -i 's/memlock: 8m/memlock: unlimited/' "$LAB/cluster/cluster.yaml"
fault "memlock that cannot be raised" 'memlock' up
again
# The image, which has a shell, is on both nodes: the limits of both are tried before anything is changed.
ask_for && sed -i 's/memlock: 8m, nofile: 1024/memlock: unlimited, nofile: 1000000000/' "$LAB/cluster/cluster.yaml"
fault "memlock and nofile that cannot be raised" 'node1: memlock to unlimited.*node1: nofile to 1000000000.*node2: memlock to unlimited.*node2: nofile to 1000000000' up
check_that "memlock and nofile: one problem" same "$(jq -s 'last.problems | length' <<<"$answer")" 1
check_that "memlock and nofile: nothing was changed" same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}') $(docker_on node1 ps -aq | wc -l) $(docker_on node2 ps -aq | wc -l)" "inactive 0 0"
block=$(jq -rs 'last.problems[0].fix[0]' <<<"$answer" | sed -n 's/.*`limits: \(.*\)`$/\1/p')
sed -i "s/^limits: .*/limits: $block/" "$LAB/cluster/cluster.yaml"
in_cluster up
check_that "memlock and nofile: with the block that was given: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
again

# An engine that refuses /dev/shm by a rule of its own: an authorization plugin.
mkdir -p "$FLEET/node2/tmp" && cat >"$FLEET/node2/tmp/policy.py" <<'PYTHON'
import base64, http.server, json, os, socketserver
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        body = json.loads(base64.b64decode(asked.get("RequestBody") or "") or "{}") if "/containers/create" in asked.get("RequestUri", "") else {}
        most = (body.get("HostConfig") or {}).get("ShmSize") or 0
        answer = {"Implements": ["authz"]} if self.path == "/Plugin.Activate" else {"Allow": most <= 128 << 20, "Msg": "shm above 128 MiB"}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def address_string(self): return "dockerd"
    def log_message(self, *_): pass
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer): daemon_threads = True
os.makedirs("/run/docker/plugins", exist_ok=True)
Server("/run/docker/plugins/policy.sock", Handler).serve_forever()
PYTHON
on node2 python3 /tmp/policy.py &
policy=$!
wait_until 20 test -S "$FLEET/node2/run/docker/plugins/policy.sock"
ENGINE_ARGUMENTS=(--authorization-plugin=policy)
engine_restart_on node2
ENGINE_ARGUMENTS=()
ask_for && sed -i 's/shm: 64m, memlock: 8m, nofile: 1024/shm: 256m, memlock: unlimited, nofile: 1000000000/' "$LAB/cluster/cluster.yaml"
fault "memlock, nofile and shm that are refused" \
    'node1: memlock to unlimited.*node1: nofile to 1000000000.*node2: memlock to unlimited.*node2: nofile to 1000000000.*node2: shm to 256 MiB \(.*shm above 128 MiB; its default is 64 MiB\)' up
check_that "memlock, nofile and shm: one problem" same "$(jq -s 'last.problems | length' <<<"$answer")" 1
check_that "memlock, nofile and shm: nothing was started" same "$(docker_on node1 info --format '{{.Swarm.LocalNodeState}}') $(docker_on node1 ps -aq | wc -l) $(docker_on node2 ps -aq | wc -l)" "inactive 0 0"
block=$(jq -rs 'last.problems[0].fix[0]' <<<"$answer" | sed -n 's/.*`limits: \(.*\)`$/\1/p')
sed -i "s/^limits: .*/limits: $block/" "$LAB/cluster/cluster.yaml"
in_cluster up
check_that "memlock, nofile and shm: with the block that was given: status 0" ended_with 0
[ "$code" -eq 0 ] || printf '%s\n%s\n' "$answer" "$error" | sed 's/^/        /'
again
engine_restart_on node2
kill "$policy"

ask_for 'network: {kind: host}'
on node2 python3 -c 'import socket, time; l = socket.create_server(("", 2222)); time.sleep(600)' &
listener=$!
fault "port 2222 taken, network of the host" '2222' up
kill "$listener"
again

hosts_stop
