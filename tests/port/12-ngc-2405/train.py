import torch
import transformer_engine.pytorch as te

layer = te.Linear(1024, 1024).cuda()
with te.fp8_autocast(enabled=True):
    print(layer(torch.randn(16, 1024, device="cuda")).shape)
