"""Random requests for `envdoc resolve`: the same seed gives the same requests, whatever is in the catalog."""

import random

PYTHONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
CUDAS = ["11.8", "12.1", "12.4", "12.6", "12.8", "12.9", "13.0", "13.2", "cpu"]
TORCHES = [
    "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
    "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
]
GPUS = {
    "x86_64": [
        "v100", "t4", "a100", "a10", "rtx 3090", "l4", "l40s", "rtx 4090", "h100", "h200", "b200", "b300",
        "rtx 5090", "rtx pro 6000",
    ],
    "aarch64": ["gh200", "gb200", "gb300", "gb10", "t4g", "sm_80", "sm_90", "sm_100"],
}
DRIVERS = ["470", "525", "535", "550", "560", "570", "580"]
# The first is any version; the others are pins of several years.
PACKAGES = {
    "accelerate": ["", "==0.25.0", "==1.6.0", "<1"],
    "bitsandbytes": ["", "==0.41.3", "==0.43.3"],
    "datasets": ["", "<3", "==2.14.7", "==3.6.0"],
    "deepspeed": ["", "==0.14.4", "==0.16.9", "<0.17"],
    "flash-attn": ["", "==2.5.8", "==2.7.4.post1"],
    "flashinfer-python": ["", "==0.5.3"],
    "gymnasium": ["", "<1"],
    "huggingface-hub": ["", "<1", "==0.23.4"],
    "liger-kernel": ["", "==0.5.5"],
    "lightning": ["", "==2.2.5", "<2.5"],
    "megatron-core": ["", "==0.12.1"],
    "numba": ["", "==0.60.0"],
    "numpy": ["<2", "==1.26.4", "==2.2.6", ">=2"],
    "peft": ["", "==0.10.0", "==0.15.2"],
    "pydantic": ["", "==2.5.3", "==2.11.7"],
    "pytorch-lightning": ["", "==1.9.5", "==2.1.4"],
    "ray": ["", "==2.9.3", "==2.40.0"],
    "setuptools": ["", "<70"],
    "sgl-kernel": ["", "==0.3.21"],
    "sglang": ["", "==0.5.9", "==0.5.15"],
    "stable-baselines3": ["", "==2.3.2"],
    "tokenizers": ["", "<0.20"],
    "torchao": ["", "==0.9.0"],
    "torchaudio": [""],
    "torchvision": [""],
    "transformer-engine": ["", "==2.7.0"],
    "transformers": ["", "==4.36.2", "==4.46.3", "==4.57.6", "<5"],
    "trl": ["", "==0.9.6", "==0.18.2", "<1"],
    "vllm": ["", "==0.6.6", "==0.8.5", "==0.11.0", "==0.15.1"],
    "xformers": ["", "==0.0.28.post1", "==0.0.35"],
}


def request(chance, number):
    """One request; a third of all are aarch64, a third name a GPU, and one in twelve wants a CPU build."""
    arch = "aarch64" if number % 3 == 0 else "x86_64"
    wish = {"arch": arch, "python": chance.choice(PYTHONS), "base": chance.choice(["none", None])}
    wish["gpu"] = chance.choice(GPUS[arch]) if number // 3 % 3 == 0 else None
    wish["driver"] = chance.choice(DRIVERS) if wish["gpu"] and chance.random() < 0.5 else None
    wish["cuda"] = chance.choice(CUDAS) if chance.random() < 0.4 else None
    if wish["gpu"] and wish["cuda"] == "cpu":
        wish["cuda"] = None
    # Not drawn: the other requests stay what they were without this share.
    if number % 10 == 7 and not wish["gpu"]:
        wish["cuda"] = "cpu"
    # Most releases have no wheel for a Python that is drawn apart.
    wish["torch"] = chance.choice(TORCHES) if chance.random() < 0.4 else None
    names = chance.sample(sorted(PACKAGES), chance.choice([1, 1, 2, 2, 3]))
    versions = {name: chance.choice(PACKAGES[name][:1] * 3 + PACKAGES[name]) for name in sorted(names)}
    wish["packages"] = [name + version for name, version in versions.items()]
    return wish


def requests(seed, count):
    chance = random.Random(seed)
    return [request(chance, number) for number in range(count)]


def options(wish, without=()):
    """The request as options of envdoc."""
    found = ["--python", wish["python"], "--arch", wish["arch"], "--with", ",".join(wish["packages"])]
    for key in ["base", "gpu", "driver", "cuda", "torch"]:
        if wish[key] and key not in without:
            found += ["--" + key, wish[key]]
    return found
