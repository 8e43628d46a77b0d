#!/usr/bin/env bash
# Builds the files of a release into dist/. For x86_64 and aarch64: a wheel, a tar.gz, a deb, an rpm and a CycloneDX bill of materials;
# for all: SHA256SUMS, CHANGES.md and THIRD-PARTY-LICENCES.txt.
#
#     packaging/release.sh                 both architectures
#     packaging/release.sh x86_64          one of them
#     packaging/release.sh --tests         run tests/run.sh quick first, as the release workflow does; with or without architectures
#     ENVDOC_DOCS_URL=https://…/ packaging/release.sh   the address of the documentation, to which ids in reports link
#     PROFILE=dev packaging/release.sh     an unoptimized program, to try the script; without limits of size
#
# Needs Rust, Python 3 and git on x86-64 Linux; it installs its tools (packaging/requirements.txt, cargo-auditable) into target/packaging. The
# programs need glibc 2.17 and nothing else: zig links them. The same commit gives the same bytes in any directory: packaging/compare.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD dist=$PWD/dist work=$PWD/target/packaging
profile=${PROFILE:-dist}
# What each file of a release may have, in bytes.
SIZE_MAX=$((12 << 20))
# The newest glibc whose symbols the programs may use.
GLIBC_MAX=2.17
CARGO_AUDITABLE=0.7.5

architectures=() tests=no
for word in "$@"; do
    case $word in
    x86_64 | aarch64) architectures+=("$word") ;;
    --tests) tests=yes ;;
    *) sed -n '2,12s/^# \?//p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
    esac
done
[ "${#architectures[@]}" -gt 0 ] || architectures=(x86_64 aarch64)

note() { printf '=== %s\n' "$*"; }
die() {
    printf 'release.sh: %s\n' "$*" >&2
    exit 1
}

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "warning: the working tree differs from its commit" >&2

# cargo-binstall looks for archives of this name in the release vVERSION, and for a directory of this name in them.
name() { echo "envdoc-$1-unknown-linux-gnu-v$version"; }
wheel() { echo "$dist/envdoc-$version-py3-none-manylinux2014_$1.manylinux_2_17_$1.whl"; }
program() { echo "$work/$1/envdoc"; }

install_tools() {
    local tools=$work/tools cargo
    if ! cmp -s packaging/requirements.txt "$tools/requirements.txt"; then
        note "Tools"
        python3 -m venv "$tools"
        "$tools/bin/python" -m pip install -q -r packaging/requirements.txt
        cp packaging/requirements.txt "$tools/requirements.txt"
    fi
    # It writes the list of packages into the program, where scanners read it. maturin calls `cargo`, so it takes that name.
    cargo=$(command -v cargo)
    cargo install -q --locked --root "$tools" --version "$CARGO_AUDITABLE" cargo-auditable
    # The path of rustc's workspace wrapper is hashed into symbol names, so it changes the binary. cargo-auditable sets an absolute path; a bare
    # name, found on PATH, is the same in every directory.
    mkdir -p "$tools/as-cargo/named"
    printf '#!/bin/sh\nRUSTC_WORKSPACE_WRAPPER=cargo-auditable exec "%s" "$@"\n' "$cargo" >"$tools/as-cargo/named/cargo"
    printf '#!/bin/sh\nCARGO="%s" exec "%s" auditable "$@"\n' "$tools/as-cargo/named/cargo" "$tools/bin/cargo-auditable" >"$tools/as-cargo/cargo"
    chmod 0755 "$tools/as-cargo/cargo" "$tools/as-cargo/named/cargo"
    export PATH=$tools/bin:$PATH
}

# Directories of this machine are not in the program: neither in panic messages nor in the assertions of C code.
build_environment() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo} directory pair rust=() c=()
    local pairs=("$HOME=/home" "$cargo_home=/cargo" "$(rustc --print sysroot)=/rust" "$root=/envdoc")
    for directory in "$cargo_home"/registry/src/*/; do pairs+=("${directory%/}=/cargo"); done
    # The last one that fits is used.
    for pair in "${pairs[@]}"; do
        rust+=("--remap-path-prefix=$pair")
        c+=("-ffile-prefix-map=$pair")
    done
    # Nothing unwinds (panic = "abort" in Cargo.toml): without the tables for it, the program has 2.9 MB less.
    rust+=(-Cforce-unwind-tables=no)
    unset RUSTFLAGS
    CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' "${rust[@]}")
    export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'} CFLAGS="${c[*]}" CARGO_INCREMENTAL=0
}

build() {
    local target=$1-unknown-linux-gnu
    note "Program for $target"
    if command -v rustup >/dev/null; then rustup -q target add "$target"; fi
    # The licence texts are those of the first target; the second has fewer packages, and none that the first lacks.
    [ -n "${licences:-}" ] || packaging/dependencies.py licences "$target" >"$work/THIRD-PARTY-LICENCES.txt"
    licences=written
    # pyproject.toml names it: a licence has the same path in the wheel as in the repository.
    cp "$work/THIRD-PARTY-LICENCES.txt" "$root/"
    mkdir -p "$work/$1"
    packaging/dependencies.py sbom "$target" >"$dist/$(name "$1").cdx.json"
    PATH=$work/tools/as-cargo:$PATH maturin build --zig --profile "$profile" --target "$target" --out "$dist" \
        --compression-level 9 --sbom-include "$dist/$(name "$1").cdx.json"
}

# Takes the program out of the wheel, and holds it to what docs/install.md says of it.
check() {
    local program newest paths
    program=$(program "$1")
    python3 - "$(wheel "$1")" "$program" <<'PYTHON'
import sys, zipfile
wheel, program = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    [name] = [name for name in archive.namelist() if name.endswith("/scripts/envdoc")]
    open(program, "wb").write(archive.read(name))
PYTHON
    chmod 0755 "$program"
    paths=$(strings -n 8 "$program" | grep -F -e "$root" -e "${CARGO_HOME:-$HOME/.cargo}" -e "$(rustc --print sysroot)" || true)
    [ -z "$paths" ] || die "the program for $1 contains directories of this machine: ${paths:0:300}"
    # readelf of any architecture reads every other one.
    newest=$(readelf --dyn-syms --wide "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
    [ "$(printf '%s\n' "GLIBC_$GLIBC_MAX" "$newest" | sort -V | tail -1)" = "GLIBC_$GLIBC_MAX" ] ||
        die "the program for $1 needs $newest, at most $GLIBC_MAX is allowed"
    readelf --sections --wide "$program" | grep -F .dep-v0 >/dev/null || die "the program for $1 has no list of packages (.dep-v0)"
    note "$1: program $(stat -c %s "$program") bytes, symbols up to $newest"
}

# The tree of the tar.gz, from which the deb and the rpm take their files too.
stage() {
    local stage own
    stage=$work/$1/$(name "$1")
    own=$work/own
    rm -rf "$stage" "$own"
    mkdir -p "$stage/completions" "$stage/man" "$own"
    install -m 0755 "$(program "$1")" "$stage/envdoc"
    # The program of this machine writes completions and pages. On PATH, it calls itself by its name there.
    ln -s "$(program "$(uname -m)")" "$own/envdoc"
    PATH=$own:$PATH envdoc completions bash >"$stage/completions/envdoc.bash"
    PATH=$own:$PATH envdoc completions zsh >"$stage/completions/_envdoc"
    PATH=$own:$PATH envdoc completions fish >"$stage/completions/envdoc.fish"
    PATH=$own:$PATH envdoc man "$stage/man/man1" >/dev/null
    gzip -9n "$stage"/man/man1/*.1
    cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/THIRD-PARTY-LICENCES.txt" "$stage/"
    cp "$dist/$(name "$1").cdx.json" "$stage/envdoc.cdx.json"
    chmod -R u=rwX,go=rX "$stage"
    find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

pack() {
    local arch packager
    case $1 in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
    note "Packages for $1"
    tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu -C "$work/$1" -c "$(name "$1")" | gzip -9n >"$dist/$(name "$1").tar.gz"
    for packager in deb rpm; do
        STAGE=$work/$1/$(name "$1") ARCH=$arch VERSION=$version \
            nfpm package --config packaging/nfpm.yaml --packager "$packager" --target "$dist/"
    done
}

# The changes of this version, or those that no version has yet.
changes() {
    local heading="## $version"
    grep -q "^$heading\b" CHANGELOG.md || heading='## Unreleased'
    awk -v heading="$heading" 'index($0, heading) == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md
}

# Tests run first, before this script changes the environment.
if [ "$tests" = yes ]; then tests/run.sh quick || die "tests/run.sh quick failed"; fi
rm -rf "$dist"
mkdir -p "$dist" "$work"
trap 'rm -f "$root/THIRD-PARTY-LICENCES.txt"' EXIT
install_tools
build_environment
for architecture in "${architectures[@]}"; do
    build "$architecture"
    check "$architecture"
done
[ -e "$(program "$(uname -m)")" ] || die "completions and man pages need the program of this machine: packaging/release.sh $(uname -m)"
for architecture in "${architectures[@]}"; do
    stage "$architecture"
    pack "$architecture"
done
cp "$work/THIRD-PARTY-LICENCES.txt" "$dist/"
changes >"$dist/CHANGES.md"
cd "$dist"
for file in *.whl *.tar.gz *.deb *.rpm; do
    size=$(stat -c %s "$file")
    [ "$profile" = dev ] || [ "$size" -le "$SIZE_MAX" ] || die "$file has $size bytes, at most $SIZE_MAX are allowed"
done
sha256sum -- *.whl *.tar.gz *.deb *.rpm *.cdx.json THIRD-PARTY-LICENCES.txt CHANGES.md >SHA256SUMS
note "Files in $dist"
wc -c -- *
