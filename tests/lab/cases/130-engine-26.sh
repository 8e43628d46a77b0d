# shellcheck shell=bash
# Images are built, verified and pushed by Debian 13's engine (26.1) as by the machine's own
# long
# needs: engine-26.1
# shellcheck source=tests/lab/engines.sh
. ./engines.sh
images_with 26.1
