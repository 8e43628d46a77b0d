import timm
import torch

net = timm.create_model("resnet50d").cuda()
print(net(torch.zeros(1, 3, 256, 256, device="cuda")).shape)
