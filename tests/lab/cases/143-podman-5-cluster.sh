# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# A node whose engine is Podman 5.4 (Debian 13's): the commands for clusters say so as with the machine's own Podman
# needs: fleet podman-5.4
# slow
PODMAN_ROOT=$LAB/trixie
mkdir -p "$PODMAN_ROOT" && tar -C "$PODMAN_ROOT" -xf "$LAB_PODMAN" || return 1
export PODMAN_IGNORE_CGROUPSV1_WARNING=yes
PODMAN="chroot $PODMAN_ROOT podman"
. ./cases/142-podman-cluster.sh
emptied "$PODMAN_ROOT"
