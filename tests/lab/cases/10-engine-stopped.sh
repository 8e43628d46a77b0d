# shellcheck shell=bash disable=SC2034,SC2154
# Docker is installed and not running
doctor
check_that "no panic" no_panic
check_that "an answer" is_json
check_that "a machine without GPU whose engine does not run has an error: status 1" ended_with 1
check_that "docker-not-running is an error" status_of docker-not-running error
check_that "what would need the engine is not called healthy" test "$(of docker-too-old status)" != pass
check_that "within 2 s" within_ms 2000

# A socket that an engine left behind.
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "/run/docker.sock", Listen => 1)'
doctor
check_that "a socket without a listener: docker-not-running is an error" status_of docker-not-running error
rm -f /run/docker.sock

doctor --fail-on never
check_that "--fail-on never: status 0" ended_with 0
doctor --ignore docker-not-running
check_that "--ignore leaves the result out" test -z "$(of docker-not-running status)"
doctor --only docker
check_that "--only GROUP keeps that group alone" same "$(jq -r '[.results[].group] | unique | join(",")' <<<"$answer")" docker
