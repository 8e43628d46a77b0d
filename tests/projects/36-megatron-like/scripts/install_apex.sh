#!/usr/bin/env bash
set -e
git clone https://github.com/NVIDIA/apex /tmp/apex
pip install -v --no-build-isolation --config-settings "--build-option=--cpp_ext" --config-settings "--build-option=--cuda_ext" /tmp/apex
