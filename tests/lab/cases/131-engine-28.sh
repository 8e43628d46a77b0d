# shellcheck shell=bash
# Images are built, verified and pushed by Docker 28.5 as by the machine's own engine
# long
# needs: engine-28.5
# shellcheck source=tests/lab/engines.sh
. ./engines.sh
images_with 28.5
