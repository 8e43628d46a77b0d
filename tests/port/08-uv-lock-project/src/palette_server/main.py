import torch
import torchvision


def run():
    print(torchvision.__version__, torch.cuda.get_device_capability())
