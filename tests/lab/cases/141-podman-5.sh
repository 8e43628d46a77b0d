# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# Images are built by Podman 5.4 (Debian 13's) through its socket as by the machine's own
# needs: podman-5.4
# slow
LIMIT=400
PODMAN_ROOT=$LAB/trixie
mkdir -p "$PODMAN_ROOT" && tar -C "$PODMAN_ROOT" -xf "$LAB_PODMAN" || return 1
mount --bind "$PODMAN_ROOT" "$PODMAN_ROOT"
for folder in proc sys dev run; do mount --rbind "/$folder" "$PODMAN_ROOT/$folder"; done
# Its storage and the context's folder lie at the same path on both sides.
mkdir -p "$PODMAN_ROOT$LAB" "$PODMAN_ROOT$(dirname "$LAB_BASE")"
mount --bind "$(dirname "$LAB_BASE")" "$PODMAN_ROOT$(dirname "$LAB_BASE")"
# This machine may not raise the number of open files, which Podman does by default.
printf '[containers]\ndefault_ulimits = ["nofile=%s:%s", "nproc=%s:%s"]\n[engine]\nruntime = "runc"\n' "$(ulimit -n)" "$(ulimit -n)" 1024 1024 >"$PODMAN_ROOT/etc/containers/containers.conf"
export PODMAN_IGNORE_CGROUPSV1_WARNING=yes
PODMAN="chroot $PODMAN_ROOT podman"
. ./cases/140-podman.sh
emptied "$PODMAN_ROOT"
