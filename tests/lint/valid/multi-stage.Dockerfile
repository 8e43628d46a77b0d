# syntax=docker/dockerfile:1
# Compiled in a devel image, shipped on a slim one.
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-dev python3-venv git \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH TORCH_CUDA_ARCH_LIST="8.0;9.0"
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124
RUN --mount=type=cache,target=/root/.cache/pip DS_BUILD_FUSED_ADAM=1 pip install deepspeed==0.16.4 --no-build-isolation

FROM ubuntu:22.04
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build --chown=1000:1000 /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 1000
CMD ["python", "-c", "import torch"]
