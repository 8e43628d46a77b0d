#!/bin/sh
# rendered by envdoc 0.1.0 from compose/two-node/cluster.yaml
# Starts this node's part of a job; the others wait for it, so run theirs too: ./launch-torchrun.sh SCRIPT [ARGUMENT …]
set -eu
exec docker exec -i -u root worker /etc/envdoc/enter torchrun --nnodes=2 --node-rank=1 --nproc-per-node=8 --master-addr=manager --master-port=29500 "$@"
