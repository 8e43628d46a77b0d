#!/usr/bin/env bash
# Builds the release of HEAD again, in a clone in another directory, and compares the files with those in dist/, byte for byte.
#
#     packaging/compare.sh [DIRECTORY [x86_64|aarch64]…]
#
# DIRECTORY (default: a temporary one) must not exist; it takes 3 GB, and is removed. Run packaging/release.sh before, with the same architectures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
[ -s dist/SHA256SUMS ] || { echo "compare.sh: dist/ has no release: run packaging/release.sh before" >&2 && exit 2; }
directory=${1:-$(mktemp -u)}
[ ! -e "$directory" ] || { echo "compare.sh: $directory exists" >&2 && exit 2; }
[ $# -eq 0 ] || shift
trap 'rm -rf "$directory"' EXIT
git clone -q . "$directory"
"$directory/packaging/release.sh" "$@"

differing=0 equal=0
while read -r sum file; do
    again=$(sha256sum "$directory/dist/$file" | cut -d' ' -f1)
    if [ "$again" = "$sum" ]; then
        equal=$((equal + 1))
    else
        differing=$((differing + 1))
        echo "differs: $file"
        cmp "$root/dist/$file" "$directory/dist/$file" || true
    fi
done <dist/SHA256SUMS
echo "$equal files with the same bytes, $differing differing"
[ "$differing" -eq 0 ]
