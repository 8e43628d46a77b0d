import torch
from safetensors.torch import load_file

table = load_file("/data/topics.safetensors", device="cuda")
print(torch.stack([t.mean() for t in table.values()]))
