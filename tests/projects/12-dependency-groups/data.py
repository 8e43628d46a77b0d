import numpy as np
import yaml

cfg = yaml.safe_load("rate: 16000")
print(np.zeros(cfg["rate"]))
