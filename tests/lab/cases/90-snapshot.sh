# shellcheck shell=bash disable=SC2034,SC2154
# A snapshot gives the results that the machine gave
judgements() { jq -c '[.results[] | {check, status, says}]' <<<"$answer"; }
compare() {
    doctor
    local live status=$code
    live=$(judgements)
    envdoc snapshot --no-redact --force --output "$LAB/plain.json"
    check_that "$1: snapshot --no-redact: status 0" ended_with 0
    doctor --from "$LAB/plain.json"
    check_that "$1: --from gives the same status" ended_with "$status"
    check_that "$1: --from gives the same results" same "$(judgements)" "$live"
    envdoc snapshot --force --output "$LAB/redacted.json"
    check_that "$1: a redacted snapshot: status 0" ended_with 0
    doctor --from "$LAB/redacted.json"
    check_that "$1: redacted, the same verdicts" same \
        "$(jq -c '[.results[] | [.check, .status]]' <<<"$answer")" "$(jq -c '[.[] | [.check, .status]]' <<<"$live")"
    check_that "$1: redacted, the machine's name is gone" eval "! grep -qwF -- '$(hostname)' '$LAB/redacted.json'"
    check_that "$1: redacted, the address is gone" eval "! grep -qF 10.77.0.2 '$LAB/redacted.json'"
}
compare "engine stopped"
engine_start || return 1
compare "engine running"
mkdir -p /etc/docker
printf '{\n "live-restore": true,\n}\n' >/etc/docker/daemon.json
compare "daemon.json broken"
rm -rf /etc/docker

printf '{' >"$LAB/broken.json"
envdoc check --from "$LAB/broken.json"
check_that "a file that is no snapshot: status 2" ended_with 2
envdoc check --from "$LAB/none.json"
check_that "a file that is not there: status 2" ended_with 2
