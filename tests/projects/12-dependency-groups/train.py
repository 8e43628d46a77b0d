import lightning as L
import torch
import torchaudio


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram()
        self.head = torch.nn.Linear(128, 4)
