import sys

import torch
from transformers import pipeline

run = pipeline("summarization", device=0 if torch.cuda.is_available() else -1)
print(run(sys.stdin.read())[0]["summary_text"])
