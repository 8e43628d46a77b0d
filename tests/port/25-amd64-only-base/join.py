import polars
import torch

print(polars.DataFrame({"x": torch.arange(4, device="cuda").tolist()}))
