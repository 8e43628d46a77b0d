from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="raycast",
    version="1.0",
    py_modules=["raycast"],
    ext_modules=[CUDAExtension("raycast_cuda", ["march.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
