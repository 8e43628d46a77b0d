import deepspeed
import torch
from Bio.Seq import Seq
from transformers import AutoConfig

print(deepspeed.__version__, torch.version.cuda, Seq("MKV"), AutoConfig)
