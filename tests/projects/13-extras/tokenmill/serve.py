from vllm import LLM


def load(path):
    return LLM(path)
