import torch
from torchvision.models.segmentation import fcn_resnet50

net = fcn_resnet50(weights=None, weights_backbone=None).cuda().eval()
print(net(torch.zeros(1, 3, 64, 64, device="cuda"))["out"].shape)
