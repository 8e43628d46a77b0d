import bitsandbytes as bnb
import torch
from sentence_transformers import SentenceTransformer

layer = bnb.nn.Linear8bitLt(16, 16).cuda()
print(layer(torch.zeros(1, 16).half().cuda()), SentenceTransformer)
