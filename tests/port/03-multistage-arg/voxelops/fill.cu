#include <torch/extension.h>

__global__ void fill_kernel(float* out, float value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

void fill(torch::Tensor t, double value) {
    int n = (int)t.numel();
    fill_kernel<<<(n + 255) / 256, 256>>>(t.data_ptr<float>(), (float)value, n);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fill", &fill); }
