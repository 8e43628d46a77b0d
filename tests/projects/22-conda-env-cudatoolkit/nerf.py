import imageio
import lpips
import torch

loss = lpips.LPIPS(net="alex").cuda()
print(loss(torch.zeros(1, 3, 64, 64).cuda(), torch.zeros(1, 3, 64, 64).cuda()), imageio.__version__)
