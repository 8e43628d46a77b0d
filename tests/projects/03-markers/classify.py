import torch
from PIL import Image
from torchvision import models, transforms

net = models.resnet18().cuda().eval()
prep = transforms.Compose([transforms.Resize(224), transforms.ToTensor()])


def classify(path):
    with torch.no_grad():
        return net(prep(Image.open(path)).unsqueeze(0).cuda()).argmax(1).item()
