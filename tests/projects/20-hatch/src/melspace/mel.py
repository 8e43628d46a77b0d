import numpy as np
import torch
import torchaudio

mel = torchaudio.transforms.MelSpectrogram().cuda()


def energy(x: np.ndarray) -> float:
    return mel(torch.from_numpy(x).float().cuda()).sum().item()
