from sentence_transformers import SentenceTransformer

model = SentenceTransformer("./model", device="cuda")
print(model.encode(["one", "two"]).shape)
