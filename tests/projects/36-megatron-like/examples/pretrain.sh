#!/usr/bin/env bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 pretrain.py --tensor-model-parallel-size 8 --bf16
