# A wheel of an older CUDA than the base's, of the same major.
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST=9.0
RUN <<EOF
set -e
apt-get update
apt-get install -y --no-install-recommends python3-pip ninja-build
rm -rf /var/lib/apt/lists/*
EOF
RUN pip3 install --no-cache-dir torch==2.6.0+cu124 --index-url https://download.pytorch.org/whl/cu124
RUN pip3 install --no-cache-dir deepspeed==0.16.4
