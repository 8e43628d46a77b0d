import torch

name = torch.cuda.get_device_name()
prompt = t"Describe what a {name} is good at."
print([part if isinstance(part, str) else part.value for part in prompt])
