# shellcheck shell=bash disable=SC2034,SC2154,SC1090
# Images are built, proved and pushed by Debian 13's engine (26.1) as by the machine's own
# long
# needs: engine-26.1
engine_26="$LAB_KEPT/engine-26.1/usr/sbin"
[ -x "$engine_26/dockerd" ] || { skip "Docker 26.1 is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
export PATH="$engine_26:$PATH"
# An older engine does not read what a newer one has written.
LAB_DATA="$LAB/docker-26"
for one in 100-build 105-base-image 110-build-interrupted 120-push; do
    echo "  $one"
    CASE="130-engine-26: $one: "
    . "./cases/$one.sh" || return 1
    engine_stop
done
emptied "$LAB_DATA"
