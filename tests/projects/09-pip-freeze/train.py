from accelerate import Accelerator
import torch

acc = Accelerator()
model = acc.prepare(torch.nn.Linear(8, 8))
print(model(torch.randn(4, 8, device=acc.device)).shape)
