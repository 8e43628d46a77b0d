import torch

try:
    import transformer_engine.pytorch as te
except ImportError:
    te = None


def linear(i, o):
    return te.Linear(i, o) if te else torch.nn.Linear(i, o, device="cuda")
