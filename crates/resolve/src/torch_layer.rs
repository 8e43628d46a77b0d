//! Packages that belong to torch's own layer, by their normalised names.

/// Whether a package is torch, one that is released with it, or NVIDIA's: the largest part of an image, which
/// changes least.
pub fn is_in_layer(name: &str) -> bool {
    ["torch", "torchvision", "torchaudio", "triton"].contains(&name)
        || name.starts_with("nvidia-")
        || name.starts_with("cuda-")
}

/// The libraries of CUDA that torch's wheels require, without `nvidia-` and `-cu12`.
const LIBRARIES: &[&str] = &[
    "cublas",
    "cuda-cupti",
    "cuda-nvrtc",
    "cuda-runtime",
    "cudnn",
    "cufft",
    "cufile",
    "curand",
    "cusolver",
    "cusparse",
    "cusparselt",
    "nccl",
    "nvjitlink",
    "nvshmem",
    "nvtx",
];

/// Whether the build of torch decides the version of a package: `nvidia-cublas-cu12`, `triton`. Others of
/// NVIDIA's (`nvidia-ml-py`) are packages like any other.
pub fn comes_with_torch(name: &str) -> bool {
    if ["triton", "cuda-bindings", "cuda-pathfinder", "cuda-toolkit"].contains(&name) {
        return true;
    }
    let Some(library) = name.strip_prefix("nvidia-") else { return false };
    let library = library.rsplit_once("-cu").map_or(library, |(library, _)| library);
    LIBRARIES.contains(&library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_cuda_come_with_torch_and_tools_do_not() {
        for name in ["triton", "nvidia-cublas-cu12", "nvidia-cuda-runtime", "nvidia-cusparselt-cu13"] {
            assert!(comes_with_torch(name), "{name}");
        }
        for name in ["torch", "nvidia-ml-py", "nvidia-dali-cuda120", "cuda-python", "nvidia-modelopt"] {
            assert!(!comes_with_torch(name), "{name}");
        }
    }
}
