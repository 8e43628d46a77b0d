import flax.linen as nn
import jax
import numpy as np
import torch

x = torch.ones(4, 8, device="cuda")
y = jax.dlpack.from_dlpack(x)
print(nn.Dense(4).init(jax.random.PRNGKey(0), y), np.__version__)
