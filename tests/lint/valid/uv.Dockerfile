# uv chooses the index by --torch-backend, and brings a Python that the distribution lacks.
FROM ubuntu:24.04
COPY --from=ghcr.io/astral-sh/uv:0.8 /uv /uvx /bin/
ENV UV_LINK_MODE=copy
RUN uv venv --python 3.11 /opt/venv
ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH
RUN --mount=type=cache,target=/root/.cache/uv uv pip install --torch-backend=cu126 torch==2.7.1 torchvision==0.22.1
