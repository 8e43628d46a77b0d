# Cases of images with another engine than this machine's. Sourced by them.
# shellcheck shell=bash disable=SC2034,SC2154,SC1090

# images_with VERSION: the cases that build, verify and push images, with the engine that tests/lab/run.sh unpacked.
images_with() {
    local version=$1 folder=$LAB_KEPT/engine-$1/usr/sbin own=$CASE one
    [ -x "$folder/dockerd" ] || { skip "Docker $version is not here: it could not be fetched from this machine's Debian mirror"; return 0; }
    export PATH="$folder:$PATH"
    # An older engine does not read what a newer one has written.
    LAB_DATA="$LAB/docker-$version"
    mkdir "$LAB_DATA" && stored python "$LAB_DATA" || return 1
    for one in 100-build 105-base-image 110-build-interrupted 120-push; do
        echo "  $one"
        CASE="$own$one: "
        . "./cases/$one.sh" || return 1
        engine_stop
    done
    emptied "$LAB_DATA"
}
