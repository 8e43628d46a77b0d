#include <torch/extension.h>

torch::Tensor hash_coords(torch::Tensor xyz);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("hash_coords", &hash_coords, "hash integer coordinates");
}
