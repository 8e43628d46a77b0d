import numpy as np
import torch


def to_gpu(a: np.ndarray):
    return torch.from_numpy(a).cuda()
