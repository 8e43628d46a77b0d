import numpy as np
import torch
import yaml
from safetensors.torch import save_file
from torch import nn


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Linear(64, 8).to(device)
    x = torch.randn(32, 64, device=device)
    print(model(x).float().mean().item())


if __name__ == "__main__":
    main()
