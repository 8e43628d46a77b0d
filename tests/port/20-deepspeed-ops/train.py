import deepspeed
import torch

net = torch.nn.Linear(64, 64)
engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds_config.json")
x = torch.randn(4, 64, device=engine.device, dtype=torch.float16)
engine.backward(engine(x).square().mean())
engine.step()
