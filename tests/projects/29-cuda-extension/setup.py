from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="voxelhash",
    version="0.2.0",
    packages=["voxelhash"],
    python_requires=">=3.9",
    install_requires=["torch>=2.4,<2.9", "numpy"],
    ext_modules=[
        CUDAExtension(
            "voxelhash._C",
            ["csrc/bind.cpp", "csrc/hash.cu"],
            extra_compile_args={
                "cxx": ["-O3", "-std=c++17"],
                "nvcc": [
                    "-O3",
                    "-gencode=arch=compute_80,code=sm_80",
                    "-gencode=arch=compute_90,code=sm_90",
                ],
            },
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
