from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="voxelops",
    version="0.3.0",
    packages=["voxelops"],
    ext_modules=[CUDAExtension("voxelops._C", ["fill.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
