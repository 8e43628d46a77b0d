# Wheels bring their own CUDA: no CUDA base is needed.
FROM python:3.12-slim-trixie
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility PIP_NO_CACHE_DIR=1
RUN pip install torch==2.6.0 torchvision==0.21.0 torchaudio==2.6.0 \
      --index-url https://download.pytorch.org/whl/cu124
RUN pip install stable-baselines3 gymnasium
CMD ["python"]
