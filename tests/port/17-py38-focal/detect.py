import torch
import torchvision

net = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None).cuda().eval()
print(net([torch.zeros(3, 320, 320, device="cuda")])[0].keys())
