from fastapi import FastAPI

from app.predict import predict

app = FastAPI()


@app.post("/predict")
def route(texts: list[str]):
    return predict("./model", texts).tolist()
