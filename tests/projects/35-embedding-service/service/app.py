from fastapi import FastAPI
from sentence_transformers import SentenceTransformer

app = FastAPI()
model = SentenceTransformer("./model", device="cuda")


@app.post("/embed")
def embed(texts: list[str]):
    return model.encode(texts).tolist()
