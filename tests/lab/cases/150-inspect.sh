# shellcheck shell=bash disable=SC2034,SC2154
# An image is read from the engine, and from a registry that wants a login, without pulling it
engine_start && image || return 1
printf 'FROM lab:base\nENV CUDA_VERSION=12.4.1 NVIDIA_REQUIRE_CUDA="cuda>=12.4 brand=tesla,driver>=470,driver<471"\nLABEL envdoc.torch=2.5.1+cu124\nRUN head -c 3000000 /dev/urandom >/opt/three\n' \
    >"$LAB/Inspected"
docker build --quiet --tag lab:inspected - <"$LAB/Inspected" >/dev/null || return 1
servers=../servers

envdoc inspect lab:inspected
check_that "from the engine: status 0" ended_with 0
check_that "from the engine: it says so" grep -q "from the Docker Engine of this machine" <<<"$answer"
check_that "from the engine: what is in it, and who says so" grep -q "torch .*2.5.1+cu124 (envdoc.torch)" <<<"$answer"
check_that "from the engine: its largest layer" grep -qE "3.00 MB  RUN head" <<<"$answer"
envdoc inspect lab:inspected --from "$servers/healthy-h100-x8-sxm-ubuntu-22.04.json"
check_that "on a server that runs it: status 0" ended_with 0
check_that "on a server that runs it: nothing is against it" grep -q "no problem found" <<<"$answer"
envdoc inspect lab:inspected --from "$servers/broken-driver-470-end-of-life.json"
check_that "on driver 470 with a GeForce: status 1" ended_with 1
check_that "on driver 470: NVIDIA's condition" grep -q "image-driver-requirement-unmet" <<<"$answer"
check_that "on driver 470: the CUDA" grep -q "image-cuda-too-new-for-driver" <<<"$answer"
envdoc inspect lab:inspected --from "$servers/broken-torch-without-rtx5090.json"
check_that "on an RTX 5090: status 1" ended_with 1
check_that "on an RTX 5090: no code for it" grep -q "sm_120" <<<"$answer"

# A registry with a password, and one without.
# The word "secret" in bcrypt, the only kind that the registry takes.
printf 'user:%s\n' '$2b$04$tNGmGgwgyKO1jms4GJl.zewQVBsXyC33gMTvuNSl/kakzqY6aF9XK' >"$LAB/htpasswd"
registry() {
    printf 'version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:%s\n%s' "$LAB/registry" "$1" "$2" >"$LAB/registry-$1.yml"
    docker-registry serve "$LAB/registry-$1.yml" >"$LAB/registry-$1.log" 2>&1 &
    for _ in $(seq 50); do
        curl -s -o /dev/null "http://127.0.0.1:$1/v2/" && return
        sleep 0.1
    done
}
registry 5001 ''
registry 5002 "$(printf 'auth:\n  htpasswd:\n    realm: lab\n    path: %s\n' "$LAB/htpasswd")"
docker tag lab:inspected 127.0.0.1:5001/team/inspected:1
pushed=$(docker push 127.0.0.1:5001/team/inspected:1 | grep -oE 'sha256:[0-9a-f]{64}' | tail -1)
docker rmi --force 127.0.0.1:5001/team/inspected:1 >/dev/null
images=$(docker images --quiet | sort | md5sum)

envdoc inspect 127.0.0.1:5001/team/inspected:1
check_that "from a registry: status 0" ended_with 0
check_that "from a registry: it says so" grep -q "read from its registry, not pulled" <<<"$answer"
check_that "from a registry: the same torch" grep -q "torch .*2.5.1+cu124 (envdoc.torch)" <<<"$answer"
check_that "from a registry: its digest" grep -qE "digest +sha256:[0-9a-f]{64}" <<<"$answer"
check_that "from a registry: its largest layer" grep -qE "3.00 MB  RUN head" <<<"$answer"
check_that "from a registry: nothing was pulled" same "$(docker images --quiet | sort | md5sum)" "$images"
envdoc inspect 127.0.0.1:5001/team/inspected:1 --from "$servers/healthy-gb200-nvl-aarch64.json"
check_that "on another processor: status 1" ended_with 1
check_that "on another processor: it says so" grep -q "image-architecture-mismatch" <<<"$answer"
envdoc inspect 127.0.0.1:5001/team/inspected:2
check_that "a tag that is not there: status 1" ended_with 1
check_that "a tag that is not there: it says so" grep -q "image-not-found" <<<"$answer"
check_that "a tag that is not there: which one" grep -q "127.0.0.1:5001/team/inspected:2" <<<"$answer"
envdoc inspect 127.0.0.1:5999/team/inspected:1
check_that "no registry: status 2" ended_with 2

system=$(. /etc/os-release && echo "$ID$VERSION_ID")
envdoc render dockerfile --base-image 127.0.0.1:5001/team/inspected:1 --os "$system" --torch 2.8 --pin
check_that "--pin: status 0" ended_with 0
check_that "--pin: the digest that the registry has" grep -qF "FROM 127.0.0.1:5001/team/inspected:1@$pushed" <<<"$answer"
envdoc render dockerfile --base-image 127.0.0.1:5999/team/inspected:1 --os "$system" --torch 2.8 --pin
check_that "--pin without a registry: status 2" ended_with 2

envdoc inspect 127.0.0.1:5002/team/inspected:1
check_that "a registry with a password: status 2" ended_with 2
check_that "a registry with a password: it requires a login" grep -q "requires a login" <<<"$error"
export DOCKER_CONFIG=$LAB/docker-config
mkdir -p "$DOCKER_CONFIG"
login() { printf '{"auths":{"127.0.0.1:5002":{"auth":"%s"}}}' "$(printf '%s' "$1" | base64)" >"$DOCKER_CONFIG/config.json"; }
login user:secret
envdoc inspect 127.0.0.1:5002/team/inspected:1
check_that "with the login: status 0" ended_with 0
login user:wrong
envdoc inspect 127.0.0.1:5002/team/inspected:1
check_that "with a wrong login: status 2" ended_with 2
check_that "with a wrong login: it says so" grep -q "rejects the login" <<<"$error"
check_that "with a wrong login: the password is not shown" eval '! grep -q wrong <<<"$error"'
unset DOCKER_CONFIG
pkill -f "docker-registry serve $LAB" || true
