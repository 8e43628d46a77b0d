import cv2
import numpy as np
import torch
from torchvision.models.detection import fasterrcnn_resnet50_fpn

net = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None).cuda().eval()
img = cv2.resize(np.zeros((64, 64, 3), np.uint8), (320, 320))
print(net([torch.from_numpy(img).permute(2, 0, 1).float().cuda() / 255]))
