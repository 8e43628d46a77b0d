#!/usr/bin/env bash
# Builds the documentation site into target/site/html, and follows its links.
#
#     docs/site/build.sh            a site for the root of a server, or for `mdbook serve target/site`
#     docs/site/build.sh /envdoc/   a site below this path, as GitHub Pages has it
#
# Needs Rust and Python 3 with venv. mdBook comes from docs/site/requirements.txt, into target/site/tools; ENVDOC_MDBOOK names another one.
# ENVDOC_REPOSITORY_URL puts a link to the repository on each page. The pages are those of docs/, and one for each check, rule and
# signature, which tests/it/site makes of the texts of `envdoc explain`. Addresses of other sites are in target/site/html.external.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
base=${1:-/}
case $base in
/ | /*/) ;;
*) sed -n '2,10s/^# \?//p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
esac
site=$PWD/target/site
mdbook=${ENVDOC_MDBOOK:-$site/tools/bin/mdbook}

if [ -z "${ENVDOC_MDBOOK:-}" ] && ! cmp -s docs/site/requirements.txt "$site/tools/requirements.txt"; then
    rm -rf "$site/tools"
    python3 -m venv "$site/tools"
    "$site/tools/bin/python" -m pip install -q --require-hashes --only-binary :all: -r docs/site/requirements.txt
    cp docs/site/requirements.txt "$site/tools/requirements.txt"
fi
"$mdbook" --version

# As in tests/run.sh, so that neither builds again what the other has built.
[ -d target/debug/incremental ] || export CARGO_INCREMENTAL=0
rm -rf "$site/src" "$site/html"
mkdir -p "$site/src"
ENVDOC_SITE=$site/src cargo test --locked -q -p envdoc --test it -- --exact site::pages_of_the_site_are_linked_and_listed
[ -s "$site/src/SUMMARY.md" ] || {
    echo "build.sh: the test wrote no pages into target/site/src" >&2
    exit 1
}
cat docs/site/book.toml "$site/src/redirects.toml" >"$site/book.toml"
rm "$site/src/redirects.toml"
cp docs/site/site.css "$site/"

export MDBOOK_OUTPUT__HTML__SITE_URL=$base
[ -z "${ENVDOC_REPOSITORY_URL:-}" ] || export MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL=$ENVDOC_REPOSITORY_URL
# A warning of mdBook is a page that does not look as it was meant, such as an HTML element that is not closed. The index of the search is large:
# 10 MB, 1.4 MB compressed. A browser loads it with the first search.
"$mdbook" build "$site" 2>&1 | tee "$site/mdbook.log"
if grep -E '\b(WARN|ERROR)\b' "$site/mdbook.log" | grep -v 'WARN search index is very large' >&2; then
    echo "build.sh: mdBook reports warnings" >&2
    exit 1
fi
python3 docs/site/links.py "$site/html" "$base"
echo "target/site/html/index.html: $(du -sh "$site/html" | cut -f1)"
