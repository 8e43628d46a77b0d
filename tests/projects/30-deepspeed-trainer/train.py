import argparse

import deepspeed
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM

p = argparse.ArgumentParser()
p.add_argument("--local_rank", type=int, default=-1)
p.add_argument("--model", default="./model")
p = deepspeed.add_config_arguments(p)
args = p.parse_args()

model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16)
engine, *_ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
print(engine.device, Dataset.from_dict({"x": [1]}))
