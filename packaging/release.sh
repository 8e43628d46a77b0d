#!/usr/bin/env bash
# Builds the files of a release into target/release-files: for x86_64 and aarch64 a wheel, a tar.gz, a deb and an rpm, the SBOM, the
# section of the changelog, and SHA256SUMS.
#
#     packaging/release.sh                      both architectures
#     packaging/release.sh x86_64               one of them
#     packaging/release.sh --repack [ARCH…]     packs the wheels again that are there, without building
#
# The same commit gives the same bytes in any directory (SOURCE_DATE_EPOCH is that of the commit, unless it is set). The programs need
# glibc 2.17 and nothing else: zig links them. It installs its tools (packaging/requirements.txt) into target/release-tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD out=$PWD/target/release-files tools=$PWD/target/release-tools
# A wheel may have this many bytes.
WHEEL_MAX=12000000
# The newest glibc whose symbols the programs may use.
GLIBC_MAX=2.17

repack='' architectures=()
for word in "$@"; do
    case $word in
    --repack) repack=yes ;;
    x86_64 | aarch64) architectures+=("$word") ;;
    *) echo "usage: packaging/release.sh [--repack] [x86_64|aarch64]…" >&2 && exit 2 ;;
    esac
done
[ "${#architectures[@]}" -gt 0 ] || architectures=(x86_64 aarch64)

note() { printf '=== %s\n' "$*"; }
die() { printf 'release.sh: %s\n' "$*" >&2 && exit 1; }

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "warning: the working tree differs from its commit" >&2

install_tools() {
    if ! cmp -s packaging/requirements.txt "$tools/requirements.txt"; then
        note "Tools"
        python3 -m venv "$tools"
        "$tools/bin/python" -m pip install -q -r packaging/requirements.txt
        cp packaging/requirements.txt "$tools/requirements.txt"
    fi
    export PATH=$tools/bin:$PATH
}

# The paths of this machine are not in the program: neither in panic messages nor in the assertions of C code.
build_environment() {
    local cargo_home=${CARGO_HOME:-$HOME/.cargo} sysroot
    sysroot=$(rustc --print sysroot)
    local pairs=("$root=/envdoc" "$cargo_home=/cargo" "$sysroot=/rust" "$HOME=/home") pair
    local rust=() c=()
    # The last one that fits is used.
    for ((i = ${#pairs[@]} - 1; i >= 0; i--)); do
        pair=${pairs[i]}
        rust+=("--remap-path-prefix=$pair")
        c+=("-ffile-prefix-map=$pair")
    done
    # Nothing unwinds (panic = "abort" in Cargo.toml), so the tables for it are 2.9 MB of nothing.
    export RUSTFLAGS="${rust[*]} -C force-unwind-tables=no"
    export CFLAGS="${c[*]}"
    export CARGO_INCREMENTAL=0
}

# wheel ARCH: its file, which is the last that was built.
wheel() { echo "$out/envdoc-$version-py3-none-manylinux_2_17_$1.manylinux2014_$1.whl"; }

build_wheel() {
    local target=$1-unknown-linux-gnu
    note "Program for $target"
    if command -v rustup >/dev/null; then rustup target add "$target"; fi
    python3 packaging/third_party_licences.py "$target" >"$out/THIRD-PARTY-LICENCES.txt"
    maturin build --locked --release --zig --target "$target" --compatibility manylinux_2_17 --out "$out"
}

# check_wheel ARCH: unpacks its program to target/release-files/.program-ARCH, and holds it and the wheel to their limits.
check_wheel() {
    local file size program=$out/.program-$1 newest
    file=$(wheel "$1")
    size=$(stat -c %s "$file")
    [ "$size" -le "$WHEEL_MAX" ] || die "$file has $size bytes, at most $WHEEL_MAX are allowed"
    python3 - "$file" "$program" <<'PYTHON'
import sys, zipfile
wheel, program = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    [name] = [name for name in archive.namelist() if name.endswith("/scripts/envdoc")]
    open(program, "wb").write(archive.read(name))
PYTHON
    chmod 0755 "$program"
    if grep -aFq -e "$root" -e "$HOME/" "$program"; then die "the program for $1 contains paths of this machine"; fi
    newest=$(objdump_symbols "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
    [ "$(printf '%s\n' "GLIBC_$GLIBC_MAX" "$newest" | sort -V | tail -1)" = "GLIBC_$GLIBC_MAX" ] ||
        die "the program for $1 needs $newest, at most $GLIBC_MAX is allowed"
    note "$1: program $(stat -c %s "$program") bytes, wheel $size bytes, needs up to $newest"
}
# objdump of binutils for one architecture refuses the other; readelf reads both.
objdump_symbols() { readelf --dyn-syms --wide "$1"; }

# stage ARCH: the tree of the tar.gz, of which nfpm takes the files too.
stage() {
    local stage=$out/envdoc-$version-$1-unknown-linux-gnu native
    native=$out/.bin
    rm -rf "$stage"
    mkdir -p "$stage/completions" "$stage/man" "$native"
    install -m 0755 "$out/.program-$1" "$stage/envdoc"
    # The program of this machine writes completions and pages: it calls itself by its name, as users do.
    cp "$out/.program-$(uname -m)" "$native/envdoc"
    PATH=$native:$PATH envdoc completions bash >"$stage/completions/envdoc.bash"
    PATH=$native:$PATH envdoc completions zsh >"$stage/completions/_envdoc"
    PATH=$native:$PATH envdoc completions fish >"$stage/completions/envdoc.fish"
    PATH=$native:$PATH envdoc man "$stage/man/man1"
    gzip -9n "$stage"/man/man1/*.1
    cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$out/THIRD-PARTY-LICENCES.txt" "$stage/"
    chmod -R u=rwX,go=rX "$stage"
    find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

pack() {
    local stage=$out/envdoc-$version-$1-unknown-linux-gnu go_arch packager
    case $1 in x86_64) go_arch=amd64 ;; aarch64) go_arch=arm64 ;; esac
    note "Packages for $1"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$out" -c "$(basename "$stage")" |
        gzip -9n >"$stage.tar.gz"
    for packager in deb rpm; do
        STAGE=$stage ARCH=$go_arch VERSION=$version nfpm package --config packaging/nfpm.yaml --packager "$packager" --target "$out/"
    done
    rm -rf "$stage"
}

# The list of what the program is made of, from the wheel.
bill_of_materials() {
    python3 - "$(wheel "$1")" "$out/envdoc-$version.cdx.json" <<'PYTHON'
import sys, zipfile
wheel, target = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    [name] = [name for name in archive.namelist() if "/sboms/" in name]
    open(target, "wb").write(archive.read(name))
PYTHON
}

# The changes of this version, or those that no version has yet.
changes() {
    local heading="## $version"
    grep -q "^$heading\b" CHANGELOG.md || heading='## Unreleased'
    awk -v heading="$heading" 'index($0, heading) == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md
}

install_tools
build_environment
mkdir -p "$out"
for architecture in "${architectures[@]}"; do
    [ -n "$repack" ] || build_wheel "$architecture"
    check_wheel "$architecture"
done
[ -e "$out/.program-$(uname -m)" ] || die "completions and man pages need the program of this machine: packaging/release.sh $(uname -m)"
for architecture in "${architectures[@]}"; do
    stage "$architecture"
    pack "$architecture"
done
bill_of_materials "${architectures[0]}"
changes >"$out/CHANGES.md"
rm -rf "$out/.bin"
cd "$out"
sha256sum -- *.whl *.tar.gz *.deb *.rpm *.cdx.json >SHA256SUMS
note "Files in $out"
cat SHA256SUMS
