import torch

try:
    from xformers.ops import memory_efficient_attention
except ImportError:
    memory_efficient_attention = None


def attend(q, k, v):
    if memory_efficient_attention:
        return memory_efficient_attention(q, k, v)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
