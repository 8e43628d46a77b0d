import grpc
import torch
from flash_attn import flash_attn_varlen_func
from safetensors.torch import load_file
from transformers import AutoTokenizer


def serve(path):
    return grpc, torch.cuda.device_count(), load_file(path), AutoTokenizer, flash_attn_varlen_func
