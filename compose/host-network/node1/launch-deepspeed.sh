#!/bin/sh
# rendered by envdoc 0.1.0 from compose/host-network/cluster.yaml
# Starts a job on all nodes, from node1: ./launch-deepspeed.sh SCRIPT [ARGUMENT …]
# Uses the container's working directory; DeepSpeed changes to the same directory on every node.
set -eu
exec docker exec -i -u trainer node1 /etc/envdoc/enter deepspeed --hostfile /etc/envdoc/hostfile --master_addr node1 --master_port 29500 "$@"
