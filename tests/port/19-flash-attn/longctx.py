import torch
from flash_attn import flash_attn_func

q = k = v = torch.randn(1, 4096, 8, 64, device="cuda", dtype=torch.float16)
print(flash_attn_func(q, k, v, causal=True).shape)
