# shellcheck shell=bash disable=SC2034,SC2154
# Docker runs
engine_start || return 1
doctor
check_that "no panic" no_panic
check_that "no error: status 0 (1 where the disk is nearly full)" no_error
usual=$code
check_that "docker-not-running passes" status_of docker-not-running pass
check_that "within 2 s" within_ms 2000
check_that "a machine without GPU: nothing about the driver is judged" status_of gpu-without-driver not-applicable
doctor --expect gpus=1
check_that "--expect gpus=1: status 1" ended_with 1
doctor --verbose
check_that "with --verbose as well" is_json
envdoc check
# Where anything was found (a disk that is nearly full is), a line follows that says where to read more.
check_that "as text: a summary in the last line" grep -qE '[0-9]+ passed' <<<"$(grep -v '^details: ' <<<"$answer" | tail -1)"
check_that "as text: no line above 100 columns" test "$(wc -L <<<"$answer")" -le 100
check_that "as text: no colour into a pipe" test "${answer//$'\e'/}" = "$answer"
for format in junit github markdown; do
    envdoc check --format "$format"
    check_that "--format $format: no panic, the same status" eval 'no_panic && ended_with "$usual"'
done
engine_stop
doctor
check_that "stopped again: docker-not-running is an error" status_of docker-not-running error
