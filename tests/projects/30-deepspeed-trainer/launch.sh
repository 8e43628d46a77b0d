#!/usr/bin/env bash
set -euo pipefail
export NCCL_DEBUG=WARN
deepspeed --hostfile hostfile --num_gpus 8 train.py --deepspeed_config ds_config.json "$@"
