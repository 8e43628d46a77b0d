import torch
from einops import rearrange

x = torch.randn(4, 3, 64, 64, device="cuda")
print(rearrange(x, "b c h w -> b (h w) c").std().item())
