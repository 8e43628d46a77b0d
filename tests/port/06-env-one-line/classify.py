import timm
import torch

net = timm.create_model("convnext_tiny").cuda().eval()
print(net(torch.zeros(1, 3, 224, 224, device="cuda")).argmax().item())
