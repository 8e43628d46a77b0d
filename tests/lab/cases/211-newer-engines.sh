# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# A cluster of Docker 28.5 and 26.1: init, up, status, exec, ssh across, down, nothing left
# needs: fleet engine-26.1 engine-28.5
for version in 26.1 28.5; do
    [ -x "$LAB_KEPT/engine-$version/usr/sbin/dockerd" ] ||
        { skip "Docker $version is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
done
ENGINES='28.5 26.1'
. ./cases/210-cluster.sh
