# shellcheck shell=bash disable=SC2034,SC2154
# Images are built by Podman through its socket, and what it cannot do is said
# PODMAN: the program, for the case that tries another than the machine's own; PODMAN_ROOT: the folder that is its /.
[ -n "${PODMAN:-}" ] || command -v podman >/dev/null || { skip "no Podman on this machine (apt-get install podman)"; return 0; }
# Storage and networks of its own.
# shellcheck disable=SC2206
pod=(${PODMAN:-podman} --root "$LAB/podman" --runroot /run/podman-lab --storage-driver overlay --cgroup-manager cgroupfs)
"${pod[@]}" system service --time 0 unix:///run/podman-lab.sock >"$LAB/podman.log" 2>&1 &
service=$!
export DOCKER_HOST=unix:///run/podman-lab.sock
for _ in $(seq 100); do "${pod[@]}" --url "$DOCKER_HOST" version >/dev/null 2>&1 && break; sleep 0.1; done
"${pod[@]}" import "$LAB_BASE" localhost/lab:base >/dev/null 2>&1 || { tail -3 "$LAB/podman.log"; return 1; }
echo "    Podman $("${pod[@]}" version --format '{{.Client.Version}}')"
context="$LAB/context"
emptied "$context"
mkdir -p "$context/src"
printf '*.log\n' >"$context/.dockerignore"
echo noise >"$context/build.log"
echo 'print("one")' >"$context/src/main.py"
cat >"$context/Dockerfile" <<'DOCKERFILE'
FROM localhost/lab:base
ARG WHO=nobody
LABEL who=$WHO
RUN echo "a line that is shown" && head -c 3000000 /dev/zero >/opt/zeros
RUN d=/usr/lib/python3/dist-packages/numpy-1.26.4.dist-info && mkdir -p $d && printf 'Name: numpy\nVersion: 1.26.4\n' >$d/METADATA
COPY . /app
RUN python3 /app/src/main.py
DOCKERFILE
builds --file "$context/Dockerfile" "$context" --tag localhost/lab:built --build-arg WHO=me --network host
check_that "status 0" ended_with 0
check_that "it says which builder" grep -q "Podman's builder" <<<"$error$answer"
check_that "what a step prints is streamed" grep -q "a line that is shown" <<<"$error"
check_that "the build argument arrived" same "$("${pod[@]}" inspect --format '{{.Config.Labels.who}}' localhost/lab:built)" me
# Looked at in the image: Podman gives what a step prints and its own words in no certain order.
listed=$(ls -A "${PODMAN_ROOT:-}$("${pod[@]}" image mount localhost/lab:built)/app" 2>&1 | LC_ALL=C sort | xargs)
"${pod[@]}" image unmount localhost/lab:built >/dev/null
check_that ".dockerignore is honoured" same "$listed" ".dockerignore Dockerfile src"
check_that "no container is left" test -z "$("${pod[@]}" ps --all --quiet)"
echo 'print("two")' >"$context/src/main.py"
builds --file "$context/Dockerfile" "$context" --tag localhost/lab:built --build-arg WHO=me --network host
check_that "after a change of the code: the rest comes from the cache" grep -qE '[1-9] from the cache' <<<"$answer"
printf 'FROM localhost/lab:base\nRUN echo before; echo "what went wrong" >&2; exit 7\n' >"$LAB/Broken"
builds --file "$LAB/Broken" "$context" --tag localhost/lab:broken --network host
check_that "a step fails: status 1" ended_with 1
check_that "a step fails: its last lines are shown" grep -q "what went wrong" <<<"$answer"
printf -- '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n' >"$LAB/ca.crt"
builds --file "$context/Dockerfile" "$context" --ca-cert "$LAB/ca.crt"
check_that "certificates are refused, not dropped" eval 'ended_with 2 && grep -q "through its socket" <<<"$error"'
builds --file "$context/Dockerfile" "$context" --cache-to type=inline
check_that "--cache-to is refused" eval 'ended_with 2 && grep -q "requires BuildKit" <<<"$error"'
builds --file "$context/Dockerfile" "$context" --builder buildkit
check_that "--builder buildkit is refused" eval 'ended_with 2 && grep -q "BuildKit is not available" <<<"$error"'
printf 'name: lab\nimage: localhost/lab:base\nnodes: [{address: 127.0.0.1, engine: "%s", gpus: 0}]\n' "$DOCKER_HOST" >"$LAB/podman.yaml"
envdoc cluster up --file "$LAB/podman.yaml"
check_that "cluster up: Podman is named, and what is needed instead" eval 'not ended_with 0 && grep -q "is Podman" <<<"$answer$error" && grep -q "Install Docker" <<<"$answer$error"'
kill "$service"
wait "$service" 2>/dev/null
builds --file "$context/Dockerfile" "$context"
check_that "no socket: status 2" ended_with 2
unset DOCKER_HOST
emptied "$context" "$LAB/podman"
