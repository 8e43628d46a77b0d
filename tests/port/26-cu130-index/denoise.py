import torch

spec = torch.stft(torch.randn(48000, device="cuda"), 512, window=torch.hann_window(512, device="cuda"), return_complex=True)
print(spec.abs().median().item())
