# shellcheck shell=bash disable=SC2034,SC2154
# Images are built and proved
engine_start && image || return 1
echo "    Docker $(docker version --format '{{.Server.Version}}')"
context="$LAB/context"
mkdir -p "$context/src" "$context/.git"
printf '.git\n*.log\n' >"$context/.dockerignore"
echo noise >"$context/build.log"
echo 'print("one")' >"$context/src/main.py"
cat >"$context/Dockerfile" <<'DOCKERFILE'
FROM lab:base
ARG WHO=nobody
LABEL who=$WHO
RUN echo "a line that is shown" && head -c 3000000 /dev/zero >/opt/zeros
RUN d=/usr/lib/python3/dist-packages/numpy-1.26.4.dist-info && mkdir -p $d && printf 'Name: numpy\nVersion: 1.26.4\n' >$d/METADATA
COPY . /app
RUN python3 /app/src/main.py
DOCKERFILE

builds --file "$context/Dockerfile" "$context" --tag lab:built --tag lab:also --build-arg WHO=me
check_that "status 0" ended_with 0
check_that "what a step prints is streamed" grep -q "a line that is shown" <<<"$error"
check_that "the report names the image and its biggest layer" grep -qE '3.0 MB +RUN echo' <<<"$answer"
check_that "the report gives the id" grep -qF "$(docker inspect --format '{{.Id}}' lab:built)" <<<"$answer"
check_that "it has both names" same "$(docker inspect --format '{{.Id}}' lab:built)" "$(docker inspect --format '{{.Id}}' lab:also)"
check_that "the build argument arrived" same "$(docker inspect --format '{{.Config.Labels.who}}' lab:built)" me
check_that ".dockerignore is honoured" same "$(docker run --rm lab:built ls -A /app | tr '\n' ' ')" ".dockerignore Dockerfile src "
check_that "it says that nothing was proved" grep -q "not verified: nothing to verify" <<<"$answer"

echo 'print("two")' >"$context/src/main.py"
builds --file "$context/Dockerfile" "$context" --tag lab:built --build-arg WHO=me
check_that "after a change of the code: status 0" ended_with 0
check_that "after a change of the code: the rest comes from the cache" grep -qE '4 steps in .*, 2 from the cache' <<<"$answer"
check_that "after a change of the code: within 10 s" within_ms 10000
echo "    rebuilt after a change of the code in $took ms"
builds --file "$context/Dockerfile" "$context" --tag lab:built --build-arg WHO=me
check_that "without a change: status 0" ended_with 0
cached=$took
# The docker program next to it, cached as well; without buildx newer ones have only the classic builder.
by_docker() { DOCKER_BUILDKIT=1 docker build "$@" 2>/dev/null || DOCKER_BUILDKIT=0 docker build "$@" 2>/dev/null; }
by_docker --quiet --build-arg WHO=me --tag lab:by-docker "$context" >/dev/null
start=$(date +%s%N)
by_docker --quiet --build-arg WHO=me --tag lab:by-docker "$context" >/dev/null
by_docker=$((($(date +%s%N) - start) / 1000000))
echo "    rebuilt without a change in $cached ms; docker build of the same files in $by_docker ms"
check_that "without a change: within 2 s of docker build" test "$cached" -le $((by_docker + 2000))
builds --file "$context/Dockerfile" "$context" --tag lab:built --no-cache
check_that "--no-cache: nothing comes from the cache" grep -q ' 0 from the cache' <<<"$answer"

promises=python==3,numpy==1.26.4,import:json
builds --file "$context/Dockerfile" "$context" --tag lab:proved --expect "$promises"
check_that "proved: status 0" ended_with 0
check_that "proved: it says so" grep -q "verified in a container: all 3 expectations hold" <<<"$answer"
check_that "proved: no container is left" test -z "$(docker ps --all --quiet)"
builds --file "$context/Dockerfile" "$context" --tag lab:liar --expect "$promises,numpy==1.26.5"
check_that "a wrong version: status 1" ended_with 1
check_that "a wrong version: it names both" grep -qF "1.26.4 is installed; expected 1.26.5" <<<"$answer"
check_that "a wrong version: the image has no name" eval '! docker inspect lab:liar >/dev/null 2>&1'
builds --file "$context/Dockerfile" "$context" --tag lab:liar --expect import:no_such_module
check_that "a module that is not there: status 1" ended_with 1
check_that "a module that is not there: Python's words" grep -q "No module named" <<<"$answer"
# A module that raises what its process may do.
printf 'FROM lab:base\nRUN echo "raise ImportError(repr([line for line in open(\\"/proc/self/status\\") if line.startswith((\\"CapBnd\\", \\"NoNewPrivs\\"))]))" >/usr/lib/python3/dist-packages/rights.py\n' >"$LAB/Rights"
builds --file "$LAB/Rights" "$context" --tag lab:rights --expect import:rights
# Bit 1 is CAP_DAC_OVERRIDE.
check_that "what verifies has one capability" grep -qE 'CapBnd:\W+t0000000000000002' < <(tr -d '\n' <<<"$answer")
check_that "what verifies gets no new privileges" grep -qE 'NoNewPrivs:\W+t1' < <(tr -d '\n' <<<"$answer")
builds --file "$context/Dockerfile" "$context" --tag lab:unproved --expect numpy==9 --no-prove
check_that "--no-prove: status 0" ended_with 0
check_that "--no-prove: it says so" grep -qF "not verified (--no-verify)" <<<"$answer"
check_that "no container is left" test -z "$(docker ps --all --quiet)"

printf 'FROM lab:base\nRUN for i in $(seq 60); do echo "line $i"; done; echo "what went wrong" >&2; exit 7\n' >"$LAB/Broken"
builds --file "$LAB/Broken" "$context" --tag lab:broken
check_that "a step fails: status 1" ended_with 1
check_that "a step fails: it is named" grep -qF "failed at [2/2] RUN for i in" <<<"$answer"
check_that "a step fails: its last lines are shown" grep -q "what went wrong" <<<"$answer"
check_that "a step fails: with its exit code" grep -qE "(exit code: 7|code: 7)" <<<"$answer"
check_that "a step fails: no image" eval '! docker inspect lab:broken >/dev/null 2>&1'
printf 'FROM lab:base\nRUNN true\n' >"$LAB/Broken"
printf 'src\n' >"$LAB/Ignoring.dockerignore"
printf 'FROM lab:base\nCOPY . /app\n' >"$LAB/Ignoring"
builds --file "$LAB/Ignoring" "$context" --tag lab:ignoring
check_that "DOCKERFILE.dockerignore comes before .dockerignore" same "$(docker run --rm lab:ignoring sh -c 'ls -A /app/src 2>/dev/null; ls /app/build.log')" /app/build.log
builds --file "$LAB/Broken" "$context"
check_that "a Dockerfile that is none: status 1" ended_with 1
check_that "a Dockerfile that is none: it names the word" grep -qi "RUNN" <<<"$answer"
builds --file "$context/none" "$context"
check_that "no Dockerfile: status 2" ended_with 2

printf 'FROM lab:base\nRUN --mount=type=secret,id=ca,target=/run/ca.crt grep -q CERTIFICATE /run/ca.crt\nRUN --mount=type=secret,id=word cat /run/secrets/word | rev\n' >"$LAB/Secret"
printf -- '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n' >"$LAB/ca.crt"
printf 'drowssap' >"$LAB/word"
builds --file "$LAB/Secret" "$context" --tag lab:secret --ca-cert "$LAB/ca.crt" --secret "id=word,src=$LAB/word"
check_that "secrets: status 0" ended_with 0
check_that "secrets: they arrive" grep -q password <<<"$error"
check_that "secrets: nothing of them is in the image" same "$(docker run --rm lab:secret sh -c 'cat /run/ca.crt /run/secrets/word 2>/dev/null | wc -c')" 0

# A request, where no archive and no index can be reached: the first thing that is fetched is what fails.
os=$(. /etc/os-release && echo "$ID$VERSION_ID")
request=(--base-image lab:base --os "$os" --torch 2.9 --copy src:/workspace/src "$context")
envdoc build "${request[@]}" --dry-run
check_that "a request, --dry-run: status 0" ended_with 0
check_that "a request, --dry-run: the Dockerfile" grep -q '^FROM lab:base AS image' <<<"$answer"
builds "${request[@]}" --tag lab:request
check_that "a request without a network: status 1" ended_with 1
check_that "a request without a network: the step is named" grep -qE "failed at \[image [0-9]/[0-9]\] RUN" <<<"$answer"
check_that "a request without a network: apt's words" grep -qi "unable to\|could not resolve\|temporary failure" <<<"$answer"
check_that "a request without a network: what that means" grep -qE "root cause|candidate" <<<"$answer"
check_that "a request without a network: no image" eval '! docker inspect lab:request >/dev/null 2>&1'
builds "${request[@]}" --builder classic
check_that "a request that requires BuildKit is not given to the classic builder" eval 'ended_with 2 && grep -q "requires BuildKit" <<<"$error"'
envdoc build --torch 99.1
check_that "a request that nothing meets: status 1" ended_with 1
check_that "a request that nothing meets: what there is instead" grep -q "Alternatives" <<<"$error"

builds --format json --file "$context/Dockerfile" "$context" --tag lab:built --expect "$promises"
check_that "--format json: every line is an object" eval 'jq -es "all(.event != null)" <<<"$answer" >/dev/null'
check_that "--format json: the last one is the report" same "$(tail -1 <<<"$answer" | jq -r '.event + " " + .status + " " + .proof.status')" "report built proved"
DOCKER_BUILDKIT=0 builds --file "$context/Dockerfile" "$context" --tag lab:classic --expect "$promises"
check_that "classic builder: status 0" ended_with 0
check_that "classic builder: the report says so" grep -q "(classic builder of Docker" <<<"$answer"
check_that "classic builder: and what came from the cache" eval 'builds --builder classic --file "$context/Dockerfile" "$context"; grep -qE "[1-9] from the cache" <<<"$answer"'
builds --builder classic --file "$LAB/Secret" "$context" --ca-cert "$LAB/ca.crt"
check_that "classic builder: certificates are refused, not dropped" eval 'ended_with 2 && grep -q "require BuildKit" <<<"$error"'
docker run --name talker lab:base sh -c 'echo epoch 1; echo "OSError: [Errno 28] No space left on device" >&2; exit 1' >/dev/null 2>&1
envdoc diagnose --container talker
check_that "diagnose --container: status 1" ended_with 1
check_that "diagnose --container: the cause" grep -q "root cause disk-full" <<<"$answer"
docker rm talker >/dev/null
docker run --detach --name talker lab:base \
    sh -c 'echo epoch 1; sleep 2; echo "OSError: [Errno 28] No space left on device" >&2; sleep 2; exit 3' >/dev/null
envdoc diagnose --follow --container talker
check_that "diagnose --follow --container: it ends with the container" ended_with 1
check_that "diagnose --follow --container: the cause" grep -q "root cause disk-full" <<<"$answer"
check_that "diagnose --follow --container: how it ended" grep -q "exited with code 3" <<<"$answer"
docker rm talker >/dev/null
envdoc diagnose --container talker
check_that "diagnose --container: one that is not there: status 2" ended_with 2
engine_stop
builds --file "$context/Dockerfile" "$context"
check_that "no engine: status 2" ended_with 2
check_that "no engine: the reason" grep -q "cannot be used" <<<"$error"
emptied "$context"
