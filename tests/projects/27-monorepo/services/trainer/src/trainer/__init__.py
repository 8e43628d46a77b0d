from accelerate import Accelerator
import torch

print(Accelerator().device, torch.__version__)
