import numpy as np
import torch
from torchvision.transforms.functional import resize

x = torch.from_numpy(np.zeros((3, 64, 64), np.float32)).cuda()
print(resize(x, [32, 32]).shape)
