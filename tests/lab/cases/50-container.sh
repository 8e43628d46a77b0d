# shellcheck shell=bash disable=SC2034,SC2154
# Inside a container
engine_start && image || return 1
inside() {
    # `doctor` calls /run/lab/envdoc: the same path inside.
    AS=(docker run --rm --volume /run/lab/envdoc:/run/lab/envdoc:ro "$@" lab:base)
}
inside
doctor
check_that "no panic" no_panic
check_that "an answer" is_json
check_that "the host's checks are not applicable" status_of docker-not-running not-applicable
check_that "and say that this is a container" says docker-not-running container
check_that "/dev/shm of 64 MiB on a machine without GPU is no error" no_error
check_that "nothing is an error" none_is error
doctor --expect gpus=1
check_that "--expect gpus=1: status 1" ended_with 1
check_that "--expect gpus=1: shared-memory-too-small finds 64 MiB" says shared-memory-too-small "64 MiB"
inside --shm-size 1g
doctor --expect gpus=1
check_that "--shm-size 1g: shared-memory-too-small is silent" test "$(of shared-memory-too-small status)" = pass
inside --ipc host
survives "--ipc host"
inside --read-only --user 1000:1000 --cap-drop ALL --network none
survives "read-only, no capabilities, no network, unknown user"
inside --pid host
doctor
check_that "--pid host: still a container" says docker-not-running container
# An engine that itself has not all rights starts no privileged containers.
if docker run --rm --privileged lab:base true 2>/dev/null; then
    inside --privileged
    doctor
    check_that "--privileged: still a container" says docker-not-running container
fi
AS=(env)
check_that "no container is left behind" test -z "$(docker ps --all --quiet)"
