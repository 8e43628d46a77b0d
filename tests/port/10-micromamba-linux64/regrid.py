import torch

field = torch.randn(1, 1, 180, 360, device="cuda")
print(torch.nn.functional.interpolate(field, scale_factor=2, mode="bilinear").shape)
