import torch

import raycast_cuda


def demo():
    depth = torch.zeros(256, device="cuda")
    raycast_cuda.march(depth, 0.5)
    print(depth.sum().item())
