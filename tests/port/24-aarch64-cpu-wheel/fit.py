import torch

assert torch.cuda.is_available(), "this image is for GPUs"
print(torch.cuda.get_device_name())
