# shellcheck shell=bash disable=SC2034,SC2154
# check --live starts a real container
engine_start --debug && image || return 1
images=$(docker images --quiet | wc -l)
doctor --live --image lab:base
check_that "no panic" no_panic
check_that "an answer" is_json
check_that "no container is left behind" test -z "$(docker ps --all --quiet)"
# With --debug the engine logs the bodies of requests.
body=$(grep -F 'form data' "$LAB/dockerd.log" | grep -F 'envdoc.live')
for setting in 'CapDrop\W+ALL' 'CapAdd\W+DAC_OVERRIDE\W+\]' 'SecurityOpt\W+no-new-privileges' 'PidsLimit\W+4096' 'NetworkDisabled\W+true'; do
    check_that "the container is created with $setting" grep -qE "$setting" <<<"$body"
done
check_that "no image is added" same "$(docker images --quiet | wc -l)" "$images"
check_that "no GPU is claimed" test "$(of live-gpu-missing status)" != pass
doctor --live --image lab:base --expect gpus=1
check_that "--expect gpus=1: the GPU did not arrive: status 1" ended_with 1
check_that "--expect gpus=1: no container is left behind" test -z "$(docker ps --all --quiet)"
doctor --live --image lab:none
check_that "an image that is not there: no panic" no_panic
check_that "an image that is not there: not called healthy" test "$(of live-gpu-missing status)" != pass
check_that "an image that is not there is not pulled" same "$(docker images --quiet | wc -l)" "$images"
engine_stop
doctor --live --image lab:base
check_that "engine stopped: an answer" is_json
check_that "engine stopped: docker-not-running is an error" status_of docker-not-running error
