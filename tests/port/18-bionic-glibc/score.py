import torch

print(torch.linalg.svdvals(torch.randn(64, 64, device="cuda"))[:3])
