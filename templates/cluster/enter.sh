#!/bin/sh
# Runs a command with the environment of the container's own processes, interface included: docker exec NODE /etc/envdoc/enter COMMAND …
set -eu
if [ -r /run/envdoc/environment ]; then
    # shellcheck source=/dev/null
    . /run/envdoc/environment
fi
exec "$@"
