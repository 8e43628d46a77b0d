#!/bin/bash
# rendered by envdoc 0.1.0 from compose/infiniband/cluster.yaml
# The same cluster as a Slurm job with enroot and pyxis: sbatch slurm.sh train.py [ARGUMENT ...]
# Tested: read by bash and shellcheck; not run on a Slurm cluster.
# Not in here: shared memory and limits: they are the machines' own under enroot.
# Not in here: InfiniBand: depends on how the cluster exposes RDMA devices (Kubernetes: a device plugin).
#SBATCH --job-name=infiniband
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
set -euo pipefail

# Slurm selects the nodes, so their names differ from cluster.yaml; the first node of the allocation is the leader.
master=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export NCCL_DEBUG='WARN'
export NCCL_IB_HCA='mlx5'

# The node rank is only set inside the task: bash there reads it and passes the arguments on unchanged.
# shellcheck disable=SC2016
srun --container-image='registry.example#team/train:1' \
    bash -c 'exec torchrun --nnodes=2 --node-rank="$SLURM_NODEID" --nproc-per-node=8 --master-addr="$0" --master-port=29500 "$@"' \
    "$master" "$@"
