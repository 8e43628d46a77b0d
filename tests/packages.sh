# Functions that install what the tests need. Sourced by tests/run.sh and tests/lab/run.sh.
# shellcheck shell=bash

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# install_missing PROGRAM:PACKAGE …: installs the packages of the programs that are missing; where several packages are
# separated by |, the first one that this release has.
install_missing() {
    local pair program choice packages=()
    for pair in "$@"; do
        program=${pair%%:*}
        PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null || packages+=("${pair#*:}")
    done
    [ "${#packages[@]}" -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "missing, and this machine has no apt: ${packages[*]}"
        return 1
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "missing: ${packages[*]}. Run as root, or install them: apt-get install ${packages[*]}"
        return 1
    fi
    if [ -z "${apt_updated:-}" ]; then
        as_root apt-get update -qq || echo "apt-get update failed; continuing with the package lists on this machine"
        apt_updated=yes
    fi
    local package chosen=()
    for choice in "${packages[@]}"; do
        for package in ${choice//|/ }; do
            apt-cache show "$package" >/dev/null 2>&1 && break
        done
        chosen+=("$package")
    done
    echo "installing ${chosen[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${chosen[@]}" >/dev/null
}

# unpack_debian FOLDER RELEASE PACKAGE…: unpacks packages of another Debian release into FOLDER, without installing them.
unpack_debian() {
    local folder=$1 release=$2 apt mirror codename
    shift 2
    mkdir -p "$(dirname "$folder")"
    folder=$(realpath -m "$folder")
    apt=$(mktemp -d) || return 1
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/deb"
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
    mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" "Release: $codename" 2>/dev/null | head -1)
    echo "deb $mirror $release main" >"$apt/sources.list"
    (
        options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
            -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
        cd "$apt/deb" && apt-get "${options[@]}" update && apt-get "${options[@]}" download "$@" &&
            for package in *.deb; do dpkg -x "$package" "$folder.part" || exit 1; done
    ) && rm -rf "$folder" && mv "$folder.part" "$folder" && rm -rf "${folder:?}/usr/share"
    local status=$?
    rm -rf "$apt" "$folder.part"
    return "$status"
}
