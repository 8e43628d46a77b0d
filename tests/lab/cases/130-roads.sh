# shellcheck shell=bash disable=SC2034,SC2154
# Engines over SSH and over TCP with TLS: build, inspect and check; what is broken is named by its cause
keys=$LAB/keys
mkdir -p "$keys" /run/sshd "$LAB/tls" "$LAB/roads"
for name in host other user stranger; do ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$keys/$name"; done
# sshd reads it as the user who comes, and the lab's folder is root's.
install -m 644 "$keys/user.pub" /run/lab/authorized
# Folders of roads, apart from those of others.
export TMPDIR=$LAB/t
mkdir -p "$TMPDIR"
useradd --no-create-home --home-dir / --shell /bin/sh ann 2>/dev/null
usermod -p '*' ann

# sshd NAME PORT HOSTKEY LINE…
ssh_server() {
    local name=$1 port=$2 key=$3
    shift 3
    printf '%s\n' "Port $port" "ListenAddress 127.0.0.1" "HostKey $keys/$key" "PidFile none" "UsePAM no" "StrictModes no" \
        "AuthorizedKeysFile /run/lab/authorized" "PasswordAuthentication no" "KbdInteractiveAuthentication no" "$@" >"$LAB/roads/$name"
    /usr/sbin/sshd -D -f "$LAB/roads/$name" -E "$LAB/roads/$name.log" &
    for _ in $(seq 50); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return; sleep 0.1; done
}
ssh_server plain 2201 host
ssh_server closed 2202 host "AllowStreamLocalForwarding no"
ssh_server changed 2203 other
ssh_server unknown 2204 host
# Behind a banner that looks like a fault: a shell that allows no login, and a forced command.
echo 'Welcome to LAB7. Permission denied (to strangers), sessions are timed out' >"$LAB/roads/banner"
chmod 644 "$LAB/roads/banner"
useradd --no-create-home --home-dir / --shell /usr/sbin/nologin bob 2>/dev/null
usermod -p '*' bob
ssh_server banner 2205 host "Banner $LAB/roads/banner"
ssh_server forced 2206 host "Banner $LAB/roads/banner" "ForceCommand exit 3"
for port in 2201 2202 2203 2205 2206; do printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$keys/host.pub")"; done >"$LAB/roads/known"
configuration() { printf '%s\n' "IdentityFile $keys/$1" "IdentitiesOnly yes" "UserKnownHostsFile $LAB/roads/known" "GlobalKnownHostsFile none" >"$LAB/roads/ssh-$1"; }
configuration user
configuration stranger
# Something that takes connections and says nothing.
perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:2209", Listen => 9) or die; my @kept; while (my $c = $s->accept) { push @kept, $c }' &

# Certificates: an authority, the engine's, the client's, and each that is wrong.
make_tls() {
    cd "$LAB/tls" || return
    for name in authority stranger; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9 -subj "/CN=$name" -keyout "$name.key" -out "$name.pem" 2>/dev/null
    done
    # signed NAME AUTHORITY DAYS EXTENSIONS
    signed() {
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
        printf '%s\n' "$4" >"$1.ext"
        openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$3" -extfile "$1.ext" -out "$1.pem" 2>/dev/null
    }
    signed server authority 9 'subjectAltName=IP:127.0.0.1,DNS:localhost'
    signed old authority -1 'subjectAltName=IP:127.0.0.1'
    signed client authority 9 'extendedKeyUsage=clientAuth'
    signed outsider stranger 9 'extendedKeyUsage=clientAuth'
    # folder NAME CA CERT
    folder() {
        mkdir -p "$1" && cp "$2.pem" "$1/ca.pem"
        [ -z "${3:-}" ] || { cp "$3.pem" "$1/cert.pem" && cp "$3.key" "$1/key.pem"; }
    }
    folder right authority client
    folder bare authority
    folder outsiders authority outsider
    folder strangers stranger client
}
(make_tls)
echo '127.0.0.1 gpu7' >>/etc/hosts
engine_start -H unix:///var/run/docker.sock -H tcp://127.0.0.1:2376 --tlsverify --tlscacert "$LAB/tls/authority.pem" \
    --tlscert "$LAB/tls/server.pem" --tlskey "$LAB/tls/server.key" && image || return 1
mkdir -p "$LAB/context" && printf 'FROM lab:base\nRUN echo over >/road\nCOPY file /file\n' >"$LAB/context/Dockerfile" && echo text >"$LAB/context/file"

with_ssh() { AS=(env ENVDOC_SSH_CONFIG="$LAB/roads/ssh-${1:-user}"); }
with_tls() { AS=(env DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH="$LAB/tls/$1"); }
ssh=ssh://root@127.0.0.1:2201
tls=tcp://127.0.0.1:2376
said() { grep -qF -- "$1" <<<"$error"; }
nothing_left() {
    sleep 0.3
    [ -z "$(find "$TMPDIR" -name 'envdoc-*')" ] && ! pgrep -f "[s]sh .*$TMPDIR/envdoc-.*/control" >/dev/null
}

for road in ssh tls; do
    if [ "$road" = ssh ]; then with_ssh; else with_tls right; fi
    builds "$LAB/context" --file "$LAB/context/Dockerfile" --tag "lab:$road" --host "${!road}"
    check_that "$road: build: status 0" ended_with 0
    check_that "$road: build: the image is there" docker image inspect --format ok "lab:$road"
    envdoc inspect "lab:$road" --host "${!road}"
    check_that "$road: inspect: status 0" ended_with 0
    check_that "$road: inspect: from the engine" grep -q "from the Docker Engine at ${!road}" <<<"$answer"
    check_that "$road: nothing is left" nothing_left
done
AS=(env DOCKER_HOST="$tls" DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH="$LAB/tls/right")
doctor
check_that "tls: check: the engine runs" status_of docker-not-running pass
AS=(env DOCKER_HOST="$tls" DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH="$LAB/tls/strangers")
doctor
check_that "tls: check with another authority: no pass" test "$(of docker-not-running status)" != pass
check_that "tls: check with another authority: named" grep -q "not signed by the CA" <<<"$answer"

# A context holds its endpoint and its certificates.
AS=(env DOCKER_CONFIG="$LAB/roads/docker")
export DOCKER_CONFIG=$LAB/roads/docker
docker context create far --docker "host=$tls,ca=$LAB/tls/right/ca.pem,cert=$LAB/tls/right/cert.pem,key=$LAB/tls/right/key.pem" >/dev/null
docker context use far >/dev/null
envdoc inspect lab:tls
check_that "context: status 0" ended_with 0
unset DOCKER_CONFIG

broken() {
    local name=$1 words=$2
    shift 2
    envdoc build "$LAB/context" --file "$LAB/context/Dockerfile" --host "$@"
    check_that "$name: status 2" ended_with 2
    check_that "$name: named" said "$words"
    check_that "$name: in time" within_ms 25000
}
with_ssh
LIMIT=40
broken "host key unknown" "No ED25519 host key is known for [127.0.0.1]:2204" ssh://root@127.0.0.1:2204
check_that "host key unknown: what to type" said "ssh -p 2204 root@127.0.0.1 true"
broken "host key changed" "the host key of [127.0.0.1]:2203 has changed" ssh://root@127.0.0.1:2203
check_that "host key changed: what to type" said "ssh-keygen -R '[127.0.0.1]:2203'"
broken "a banner and nologin" "bob@127.0.0.1 has a login shell that allows no login" ssh://bob@127.0.0.1:2205
check_that "a banner and nologin: the banner is no reason" eval '! said LAB7 && ! said strangers'
check_that "a banner and nologin: what shows it" said "ssh -p 2205 bob@127.0.0.1 true; echo \$?"
broken "a banner and a forced command" "ended with status 3 before it ran the command" ssh://root@127.0.0.1:2206
check_that "a banner and a forced command: the banner is no reason" eval '! said LAB7 && ! said strangers'
check_that "a banner and a forced command: what to look at" said "ForceCommand"
envdoc inspect lab:ssh --host ssh://root@127.0.0.1:2205
check_that "a banner: it works" ended_with 0
broken "socket absent" "/run/none.sock does not exist" "$ssh/run/none.sock"
broken "no engine at the socket" "is not a socket" "$ssh/etc/passwd"
broken "socket not permitted" "ann has no permission to use /var/run/docker.sock" ssh://ann@127.0.0.1:2201
check_that "socket not permitted: what to type" said "usermod -aG docker ann"
broken "forwarding forbidden" "does not forward it" ssh://root@127.0.0.1:2202
broken "nobody listens" "Connection refused" ssh://root@127.0.0.1:2208
broken "accepts and says nothing" "banner exchange" ssh://root@127.0.0.1:2209
broken "name unknown" "Could not resolve hostname" ssh://root@no-such-machine.invalid
broken "an option in the endpoint" "is not a host name" "ssh://-oProxyCommand=id"
with_ssh stranger
broken "key not accepted" "Permission denied (publickey)" "$ssh"
check_that "key not accepted: what to type" said "ssh-copy-id"

with_tls bare
broken "no client certificate" "requires a client certificate" "$tls"
with_tls outsiders
broken "client certificate of strangers" "rejects the client certificate" "$tls"
with_tls strangers
broken "unknown authority" "not signed by the CA in $LAB/tls/strangers/ca.pem" "$tls"
with_tls right
broken "wrong name" "is for other names:" tcp://gpu7:2376
openssl s_server -accept 127.0.0.1:2379 -cert "$LAB/tls/old.pem" -key "$LAB/tls/old.key" -quiet </dev/null >/dev/null 2>&1 &
sleep 0.3
broken "expired" "has expired" tcp://127.0.0.1:2379
broken "TLS: accepts and says nothing" "did not answer" tcp://127.0.0.1:2209
broken "TLS: nobody listens" "connection to 127.0.0.1:2208 refused" tcp://127.0.0.1:2208
with_tls nowhere
broken "no certificates" "nowhere/ca.pem does not exist" "$tls"
AS=(env)
broken "TLS not asked for" "The engine requires TLS: set DOCKER_TLS_VERIFY=1" "$tls"

# The road ends with envdoc, however envdoc ends.
with_ssh
printf 'FROM lab:base\nRUN sleep 60\n' >"$LAB/context/Slow"
forwards() { pgrep -f "[s]sh .*$TMPDIR/envdoc-.*/control" >/dev/null; }
for signal in INT KILL; do
    "${AS[@]}" /run/lab/envdoc build "$LAB/context" --file "$LAB/context/Slow" --host "$ssh" >/dev/null 2>"$LAB/stderr" &
    slow=$!
    wait_until 20 forwards
    check_that "$signal: the road was open" forwards
    sleep 2
    kill -"$signal" "$slow"
    wait "$slow" 2>/dev/null
    wait_until 15 not forwards
    check_that "$signal: ssh has ended" not forwards
    [ "$signal" = KILL ] || check_that "$signal: nothing is left" nothing_left
    rm -rf "$TMPDIR"/envdoc-*
done
AS=(env)
pkill -f "sshd -D -f $LAB" || true
