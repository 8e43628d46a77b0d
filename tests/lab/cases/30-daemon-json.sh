# shellcheck shell=bash disable=SC2034,SC2154
# /etc/docker/daemon.json is broken, and dockerd refuses it too
mkdir -p /etc/docker
# shellcheck disable=SC2120
refuses() { ! engine_start "$@" >"$LAB/refused"; }

# TITLE TEXT WORDS-OF-DOCKERD ID WORDS-OF-ENVDOC
broken() {
    printf '%s' "$2" >/etc/docker/daemon.json
    check_that "$1: dockerd refuses it" refuses
    check_that "$1: dockerd says: $3" grep -qiF -- "$3" "$LAB/dockerd.log"
    doctor
    check_that "$1: status 1" ended_with 1
    check_that "$1: $4 is an error" status_of "$4" error
    check_that "$1: it says: $5" says "$4" "$5"
    check_that "$1: no panic" no_panic
}

broken "a trailing comma" $'{\n  "log-driver": "json-file",\n  "live-restore": true,\n}\n' \
    "invalid character '}'" daemon-json-invalid "line 4"
broken "a missing comma" $'{\n  "log-driver": "json-file"\n  "live-restore": true\n}\n' \
    "invalid character" daemon-json-invalid "line 3"
broken "an unknown key" $'{\n  "live-restor": true\n}\n' \
    "don't match any configuration option" daemon-json-unknown-key "live-restor"
broken "a comment" $'{\n  // the runtime\n  "live-restore": true\n}\n' \
    "invalid character '/'" daemon-json-invalid "line 2"
broken "a wrong type" $'{\n  "live-restore": "yes"\n}\n' \
    "cannot unmarshal" daemon-json-invalid "live-restore"

# The same setting as a flag and in the file.
printf '{"hosts": ["unix:///var/run/docker.sock"]}\n' >/etc/docker/daemon.json
check_that "hosts as flag and in the file: dockerd refuses it" refuses --host unix:///run/other.sock
check_that "hosts as flag and in the file: dockerd says so" grep -q "specified both as a flag and in the configuration file" \
    "$LAB/dockerd.log"

# Debian's unit starts dockerd with -H fd://.
if grep -q 'ExecStart=.*-H ' /lib/systemd/system/docker.service 2>/dev/null; then
    doctor
    check_that "hosts in the file and -H in the unit: an error" status_of daemon-json-flag-conflict error
    check_that "hosts in the file and -H in the unit: status 1" ended_with 1
fi

# A directory, as `docker run -v /etc/docker/daemon.json:…` makes it.
rm /etc/docker/daemon.json
mkdir /etc/docker/daemon.json
check_that "a directory: dockerd refuses it" refuses
doctor
check_that "a directory: no panic" no_panic
check_that "a directory: it is not called healthy" test "$(of daemon-json-invalid status)" != pass
rmdir /etc/docker/daemon.json

# What dockerd takes, envdoc takes.
healthy() {
    printf '%s' "$2" >/etc/docker/daemon.json
    check_that "$1: dockerd takes it" engine_start
    doctor
    check_that "$1: daemon-json-invalid passes" status_of daemon-json-invalid pass
    check_that "$1: daemon-json-unknown-key passes" status_of daemon-json-unknown-key pass
    check_that "$1: no error" no_error
    engine_stop
}
healthy "an empty object" '{}'
# Engines before 23.0 refuse an empty file, later ones take it. Stopped, an engine does not say which it is.
: >/etc/docker/daemon.json
if refuses; then
    doctor
    check_that "an empty file, which dockerd refuses: not called healthy" test "$(of daemon-json-invalid status)" != pass
else
    doctor
    check_that "an empty file, which dockerd takes: passes" status_of daemon-json-invalid pass
fi
engine_stop
printf '{}' >/etc/docker/daemon.json
engine_start
: >/etc/docker/daemon.json
doctor
check_that "an empty file under a running engine: $(docker version --format '{{.Server.Version}}')" \
    status_of daemon-json-invalid "$(dpkg --compare-versions "$(docker version --format '{{.Server.Version}}')" ge 23 && echo pass || echo error)"
engine_stop
healthy "many known keys" '{"log-driver": "json-file", "log-opts": {"max-size": "10m", "max-file": "3"}, "live-restore": true,
  "default-ulimits": {"nofile": {"Name": "nofile", "Hard": 64000, "Soft": 64000}}, "registry-mirrors": [], "mtu": 1450,
  "max-concurrent-downloads": 5, "features": {"buildkit": true}, "insecure-registries": [], "debug": false}'
healthy "a runtime" '{"runtimes": {"other": {"path": "/usr/sbin/runc", "runtimeArgs": []}}}'

# Broken while the engine runs on: the next restart fails.
printf '{}' >/etc/docker/daemon.json
engine_start
printf '{\n  "live-restore": true,\n}\n' >/etc/docker/daemon.json
doctor
check_that "broken under a running engine: an error" status_of daemon-json-invalid error
engine_stop
rm -rf /etc/docker
