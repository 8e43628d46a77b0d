# shellcheck shell=bash disable=SC2034,SC2154
# Images are pushed to real registries, with and without a login
engine_start && image || return 1
mkdir -p "$LAB/context" "$LAB/registry" "$HOME/.docker"
printf 'FROM lab:base\nRUN echo pushed >/pushed\n' >"$LAB/context/Dockerfile"
# registry PORT EXTRA: Debian's docker-registry on the loopback.
registry() {
    printf 'version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: 127.0.0.1:%s\n%b' \
        "$LAB/registry/$1" "$1" "$2" >"$LAB/registry/$1.yml"
    docker-registry serve "$LAB/registry/$1.yml" >"$LAB/registry/$1.log" 2>&1 &
    registries+=("$!")
    local _
    for _ in $(seq 50); do (: </dev/tcp/127.0.0.1/"$1") 2>/dev/null && return; sleep 0.1; done
    return 1
}
registries=()
perl -e 'print "me:", crypt("secret", q($2y$05$abcdefghijklmnopqrstuu)), "\n"' >"$LAB/registry/htpasswd"
registry 5000 '' && registry 5001 "auth:\n  htpasswd:\n    realm: lab\n    path: $LAB/registry/htpasswd\n" || return 1
push() { builds --file "$LAB/context/Dockerfile" "$LAB/context" --push --progress plain "$@"; }

push --tag localhost:5000/team/one:1 --tag localhost:5000/team/one:latest
check_that "without a login: status 0" ended_with 0
pushed=$(docker inspect --format '{{index .RepoDigests 0}}' localhost:5000/team/one:1)
check_that "without a login: the report has the digest of the registry" grep -qF "${pushed#*@}" <<<"$answer"
check_that "without a login: both names are there" same \
    "$(perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("127.0.0.1:5000"); print $s "GET /v2/team/one/tags/list HTTP/1.0\r\n\r\n"; local $/; print <$s> =~ /(\{.*\})/' | jq -r '.tags | sort | join(" ")')" "1 latest"

push --tag localhost:5001/team/one:1
check_that "no login where one is needed: status 1" ended_with 1
check_that "no login where one is needed: it says so" grep -q "there is no login for this registry" <<<"$answer"
check_that "no login where one is needed: the image is named here" docker inspect localhost:5001/team/one:1 --format ok
login() { printf '{"auths": {"localhost:5001": {"auth": "%s"}}}' "$(printf %s "$1" | base64)" >"$HOME/.docker/config.json"; }
login me:wrong
push --tag localhost:5001/team/one:1
check_that "a wrong password: status 1" ended_with 1
check_that "a wrong password: it says whose it was" grep -q "with the login of Docker's configuration" <<<"$answer"
login me:secret
push --tag localhost:5001/team/one:1
check_that "the right password: status 0" ended_with 0

# A credential helper, and one that hangs.
printf '{"credHelpers": {"localhost:5001": "lab"}}' >"$HOME/.docker/config.json"
mkdir -p "$LAB/bin"
printf '#!/bin/sh\nread -r registry\n[ "$1 $registry" = "get localhost:5001" ] && echo "{\\"Username\\":\\"me\\",\\"Secret\\":\\"secret\\"}"\n' >"$LAB/bin/docker-credential-lab"
chmod 755 "$LAB/bin/docker-credential-lab"
AS=(env PATH="$LAB/bin:$PATH")
push --tag localhost:5001/team/one:2
check_that "a credential helper: status 0" ended_with 0
# BuildKit asks for the login itself: the base image of this one lies behind it.
docker rmi --force localhost:5001/team/one:1 localhost:5001/team/one:2 >/dev/null
printf 'FROM localhost:5001/team/one:1\nRUN cat /pushed\n' >"$LAB/context/Dockerfile"
builds --file "$LAB/context/Dockerfile" "$LAB/context" --pull
check_that "a base image behind a login: status 0" ended_with 0
builds --file "$LAB/context/Dockerfile" "$LAB/context" --pull --builder classic
check_that "a base image behind a login, classic builder: status 0" ended_with 0
# Several platforms: one image each, and a list of them that envdoc writes.
asked_of() { perl -MIO::Socket::INET -e 'my ($port, $path) = @ARGV; my $s = IO::Socket::INET->new("127.0.0.1:$port"); print $s "GET $path HTTP/1.0\r\nAuthorization: Basic bWU6c2VjcmV0\r\nAccept: application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.index.v1+json\r\n\r\n"; local $/; my $all = <$s>; $all =~ s/.*?\r\n\r\n//s; print $all' "$@"; }
printf 'FROM scratch\nARG TARGETARCH\nLABEL processor=$TARGETARCH\nCOPY Dockerfile /\n' >"$LAB/context/Dockerfile"
for port in 5000 5001; do
    push --tag localhost:$port/team/many:1 --platform linux/amd64,linux/arm64/v8 --no-prove
    check_that "two platforms, $port: status 0" ended_with 0
    list=$(asked_of $port /v2/team/many/manifests/1)
    check_that "two platforms, $port: the list has both" same "$(jq -c '[.manifests[].platform | .architecture + "/" + (.variant // "")]' <<<"$list")" '["amd64/","arm64/v8"]'
    check_that "two platforms, $port: the report names the list" grep -q "many:1 " <<<"$answer"
done
envdoc inspect --remote localhost:5000/team/many:1 --arch aarch64 --verbose
check_that "two platforms: the image of one is found" eval 'ended_with 0 && grep -q "arm64" <<<"$answer"'
builds --file "$LAB/context/Dockerfile" "$LAB/context" --tag lab:many --platform linux/amd64,linux/arm64
check_that "two platforms without --push: refused before anything is built" eval 'ended_with 2 && grep -q -- "--push" <<<"$error"'

# A cache in a registry, read by an engine that has none.
printf 'FROM localhost:5001/team/one:1\nRUN echo once >/once && sleep 1\n' >"$LAB/context/Dockerfile"
builds --file "$LAB/context/Dockerfile" "$LAB/context" --tag lab:cached --cache-to type=registry,ref=localhost:5000/team/cache:1
check_that "--cache-to a registry: status 0" ended_with 0
check_that "--cache-to a registry: pushed under that name" grep -q "team/cache:1" <<<"$answer"
docker rmi --force lab:cached localhost:5000/team/cache:1 >/dev/null
docker builder prune --all --force >/dev/null
builds --file "$LAB/context/Dockerfile" "$LAB/context" --tag lab:cached --cache-from localhost:5000/team/cache:1 --progress plain
check_that "--cache-from it: status 0" ended_with 0
check_that "--cache-from it: the step is not run again" grep -qE '[1-9][0-9]* from the cache' <<<"$answer"
builds --file "$LAB/context/Dockerfile" "$LAB/context" --cache-to localhost:5000/team/cache:1 --builder classic
check_that "--cache-to, classic builder: refused" eval 'ended_with 2 && grep -q "requires BuildKit" <<<"$error"'

rm "$LAB/bin/docker-credential-lab"
builds --file "$LAB/context/Dockerfile" "$LAB/context" --pull
check_that "a helper that is not there: status 1" ended_with 1
printf '{' >"$HOME/.docker/config.json"
builds --file "$LAB/context/Dockerfile" "$LAB/context"
check_that "a config.json that is broken: status 2" ended_with 2
check_that "a config.json that is broken: it is named" grep -q "config.json" <<<"$error"
AS=(env)
emptied "$HOME/.docker" "$LAB/context"
kill "${registries[@]}"
emptied "$LAB/registry"
