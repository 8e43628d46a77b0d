#include <torch/extension.h>

__global__ void hash_kernel(const int* xyz, int64_t* out, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = xyz[3 * i] * 73856093LL ^ xyz[3 * i + 1] * 19349669LL ^ xyz[3 * i + 2] * 83492791LL;
}

torch::Tensor hash_coords(torch::Tensor xyz) {
  auto x = xyz.contiguous();
  auto n = x.size(0);
  auto out = torch::empty({n}, x.options().dtype(torch::kLong));
  hash_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<int>(), out.data_ptr<int64_t>(), n);
  return out;
}
