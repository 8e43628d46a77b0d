import torch
from fast_rope import rotate
from transformers import AutoConfig

from longctx import attend


def step(q, k, v):
    return attend(rotate(q), rotate(k), v).to(torch.bfloat16)
