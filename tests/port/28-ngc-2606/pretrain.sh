#!/usr/bin/env bash
set -e
torchrun --nproc-per-node=8 -m megatron.energon --help
