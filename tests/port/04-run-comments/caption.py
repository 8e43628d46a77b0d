import torch
import torchaudio

wave = torch.randn(1, 16000, device="cuda")
mel = torchaudio.transforms.MelSpectrogram(16000).cuda()
print(mel(wave).shape)
