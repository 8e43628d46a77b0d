import torch

print(torch.__version__, torch.cuda.get_arch_list())
