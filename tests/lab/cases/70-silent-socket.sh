# shellcheck shell=bash disable=SC2034,SC2154
# A socket that accepts and never answers, and others that answer nonsense
listen() {
    rm -f /run/lab/odd.sock
    perl -MIO::Socket::UNIX -e '
        my $s = IO::Socket::UNIX->new(Local => "/run/lab/odd.sock", Listen => 9) or die;
        my @kept;
        while (my $c = $s->accept) { push @kept, $c; if ($ARGV[0]) { sysread $c, my $x, 4096; syswrite $c, eval qq("$ARGV[0]"); } }
        ' "$1" &
    listener=$!
    for _ in $(seq 50); do [ -S /run/lab/odd.sock ] && return; sleep 0.1; done
}
AS=(env DOCKER_HOST=unix:///run/lab/odd.sock)
listen ""
doctor --timeout 2
check_that "silent: no panic" no_panic
check_that "silent: an answer" is_json
check_that "silent: within 2 s and a bit" within_ms 2700
check_that "silent: the engine's state is unknown or an error, with the reason" says docker-not-running "did not answer"
check_that "silent: nothing about the engine passes" test "$(of docker-too-old status)" != pass
doctor --timeout 0.5
check_that "silent: --timeout 0.5 ends within 1.2 s" within_ms 1200
doctor --strict --fail-on never
check_that "silent: --strict says with status 3 that too much is unknown" ended_with 3
kill "$listener"
listen 'SSH-2.0-OpenSSH_9.2\r\n'
survives "a socket that speaks SSH"
check_that "a socket that speaks SSH: nothing about the engine passes" test "$(of docker-too-old status)" != pass
kill "$listener"
listen 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull'
survives "an engine that answers null"
check_that "an engine that answers null: nothing about the engine passes" test "$(of docker-too-old status)" != pass
kill "$listener"
listen 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 17\r\n\r\n{\"message\":\"no\"}'
survives "an engine that answers 500"
kill "$listener"
listen 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{\"a\":'
survives "an engine that stops half way"
kill "$listener"
AS=(env DOCKER_HOST=unix:///run/lab/none.sock)
survives "DOCKER_HOST names a socket that is not there"
AS=(env DOCKER_HOST=tcp://10.77.0.1:2375)
survives "DOCKER_HOST names a port where nobody listens"
AS=(env DOCKER_HOST=tcp://10.77.0.99:2375)
survives "DOCKER_HOST names a machine that is not there"
AS=(env DOCKER_HOST=ssh://user@10.77.0.1)
survives "DOCKER_HOST goes over SSH"
AS=(env DOCKER_HOST=nonsense)
survives "DOCKER_HOST is nonsense"
AS=(env)
