import lightning as L
import torch
import torchmetrics
from torchvision.models import resnet18


class Count(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = resnet18(num_classes=2)
        self.acc = torchmetrics.Accuracy(task="multiclass", num_classes=2)

    def training_step(self, batch, _):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
