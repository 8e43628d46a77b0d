"""Trains with torchrun on any number of nodes."""
import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", timeout=timedelta(minutes=30))
    rank = dist.get_rank()
    model = DistributedDataParallel(build().cuda(), device_ids=[local_rank])
    sampler = DistributedSampler(dataset(), shuffle=True, seed=1)
    loader = DataLoader(dataset(), batch_size=8, sampler=sampler, num_workers=4, pin_memory=True)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            step(model, batch)
        try:
            if rank == 0:
                save(model)
        except OSError as error:
            print(f"not saved: {error}")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
