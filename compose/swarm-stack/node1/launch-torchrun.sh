#!/bin/sh
# rendered by envdoc 0.1.0 from compose/swarm-stack/cluster.yaml
# Starts the processes of this node; they wait for the other nodes, so run it on every node: ./launch-torchrun.sh SCRIPT [ARGUMENT …]
set -eu
exec docker exec -i -u root node1 /etc/envdoc/enter torchrun --nnodes=2 --node_rank=0 --nproc_per_node=8 --master_addr=node1 --master_port=29500 "$@"
