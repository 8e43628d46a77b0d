#include <torch/extension.h>

__global__ void keep_kernel(const float* score, bool* keep, float limit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) keep[i] = score[i] > limit;
}

torch::Tensor keep(torch::Tensor score, double limit) {
    auto out = torch::empty(score.sizes(), score.options().dtype(torch::kBool));
    int n = (int)score.numel();
    keep_kernel<<<(n + 255) / 256, 256>>>(score.data_ptr<float>(), out.data_ptr<bool>(), (float)limit, n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("keep", &keep); }
