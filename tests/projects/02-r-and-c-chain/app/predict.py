import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def predict(path, texts):
    tok = AutoTokenizer.from_pretrained(path)
    model = AutoModelForSequenceClassification.from_pretrained(path).cuda().eval()
    with torch.inference_mode():
        out = model(**tok(texts, return_tensors="pt", padding=True).to("cuda"))
    return np.asarray(out.logits.float().cpu())
