import numpy as np
import torch
import torchaudio
import yaml
from acme_featurestore import load

spec = torchaudio.transforms.MelSpectrogram().cuda()
print(np.mean(spec(torch.randn(1, 16000).cuda()).cpu().numpy()), yaml.safe_load("a: 1"), load)
