import torch
import torchvision
from fastapi import FastAPI

app = FastAPI()
model = torchvision.models.resnet18().cuda().eval()


@app.get("/health")
def health():
    with torch.inference_mode():
        return {"ok": bool(model(torch.zeros(1, 3, 224, 224, device="cuda")).isfinite().all())}
