import torch
from flask import Flask

app = Flask(__name__)
weights = torch.randn(512, 1, device="cuda")


@app.get("/")
def rank():
    return {"score": (torch.randn(1, 512, device="cuda") @ weights).item()}


app.run(host="0.0.0.0")
