import torch

from voxelops import fill

t = torch.empty(1000, device="cuda")
fill(t, 2.5)
assert bool((t == 2.5).all())
print("ok", torch.cuda.get_device_name())
