#!/usr/bin/env bash
# The Python of the lab's torch image, in a chroot: tests/torch.sh ARGUMENT… runs it like python3. Needs root or sudo.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$repository/target/lab/torch
if [ ! -x "$root/usr/bin/python3" ]; then
    [ -s "$repository/target/lab/base-torch-trixie.tar" ] || { echo "tests/lab/run.sh 240 makes the image first" >&2; exit 2; }
    rm -rf "$root.part" && mkdir -p "$root.part"
    tar -C "$root.part" -xf "$repository/target/lab/base-torch-trixie.tar"
    mv "$root.part" "$root"
fi
run=()
[ "$(id -u)" -eq 0 ] || run=(sudo -n --preserve-env)
# A mount namespace of its own: /proc, /dev and the repository are seen at their own paths and go with the process.
# shellcheck disable=SC2016
exec "${run[@]}" unshare --mount --propagation private bash -c '
    root=$1 repository=$2
    shift 2
    mkdir -p "$root$repository/examples"
    mount --bind "$repository/examples" "$root$repository/examples"
    mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" /usr/bin/python3 "$@"' torch "$root" "$repository" "$@"
