#!/bin/sh
# rendered by envdoc 0.1.0 from compose/unlike-nodes/cluster.yaml
# Starts a job on all nodes, from lead: ./launch-deepspeed.sh SCRIPT [ARGUMENT …]
# Uses the container's working directory; DeepSpeed changes to the same directory on every node.
set -eu
exec docker exec -i -u root lead /etc/envdoc/enter deepspeed --hostfile /etc/envdoc/hostfile --master_addr lead --master_port 29500 "$@"
