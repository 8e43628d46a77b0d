#!/bin/bash
set -euo pipefail
export NCCL_SOCKET_IFNAME=${IFNAME:-eth0}
export OMP_NUM_THREADS=8
export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=${MASTER_PORT:-29500}
GPUS=8
if [[ "${DEBUG:-0}" == 1 ]]; then
    NCCL_DEBUG=INFO python -c 'import torch; print(torch.cuda.nccl.version())'
fi
cat > ds_config.json <<EOF
{"train_batch_size": $((GPUS * 4))}
EOF
srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node "$GPUS" \
    --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT" train.py --epochs 3
