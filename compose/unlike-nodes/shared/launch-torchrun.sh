#!/bin/sh
# rendered by envdoc 0.1.0 from compose/unlike-nodes/cluster.yaml
# Starts this node's part of a job; the others wait for it, so run theirs too: ./launch-torchrun.sh SCRIPT [ARGUMENT …]
set -eu
exec docker exec -i -u root shared /etc/envdoc/enter torchrun --nnodes=4 --node_rank=3 --nproc_per_node=2 --master_addr=lead --master_port=29500 "$@"
