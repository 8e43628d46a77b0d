#!/bin/sh
# rendered by envdoc 0.1.0 from compose/two-node/cluster.yaml
# Starts a job on all nodes, from manager: ./launch-deepspeed.sh SCRIPT [ARGUMENT …]
# Uses the container's working directory; DeepSpeed changes to the same directory on every node.
set -eu
exec docker exec -i -u root manager /etc/envdoc/enter deepspeed --hostfile /etc/envdoc/hostfile --master_addr manager --master_port 29500 "$@"
