# shellcheck shell=bash disable=SC2034,SC2154
# An ordinary user without the group docker
getent group docker >/dev/null || groupadd docker
useradd --create-home --base-dir /run/lab --shell /bin/sh ordinary || return 1
AS=(setpriv --reuid ordinary --regid ordinary --init-groups env HOME=/run/lab/ordinary USER=ordinary)
chgrp docker /run/docker.sock 2>/dev/null
engine_start || return 1
doctor
check_that "no panic" no_panic
check_that "docker-permission-denied is an error" status_of docker-permission-denied error
check_that "its fix names the group" grep -q "usermod" <<<"$(jq -c '.results[] | select(.check == "docker-permission-denied") | .fix' <<<"$answer")"
check_that "docker-not-running is not claimed" test "$(of docker-not-running status)" != error
check_that "nothing that only the engine knows passes" test "$(of docker-too-old status)" != pass
check_that "status 1" ended_with 1
check_that "within 2 s" within_ms 2000

usermod -aG docker ordinary
doctor
check_that "in the group: docker-permission-denied passes" status_of docker-permission-denied pass
check_that "in the group: no error" no_error

# A home that cannot be written, and none.
AS=(setpriv --reuid ordinary --regid ordinary --init-groups env HOME=/proc/1 USER=ordinary)
survives "HOME cannot be read"
AS=(setpriv --reuid ordinary --regid ordinary --init-groups env -u HOME)
survives "no HOME"
AS=(env)
mkdir -p /etc/docker
chmod 700 /etc/docker
printf '{}' >/etc/docker/daemon.json
AS=(setpriv --reuid ordinary --regid ordinary --init-groups env HOME=/run/lab/ordinary)
survives "/etc/docker cannot be read"
check_that "/etc/docker cannot be read: daemon.json is unknown" status_of daemon-json-invalid unknown
AS=(env)
rm -rf /etc/docker
userdel --remove ordinary 2>/dev/null
