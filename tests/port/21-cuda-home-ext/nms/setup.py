from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="boxnms", version="0.1", ext_modules=[CUDAExtension("boxnms", ["nms.cu"])], cmdclass={"build_ext": BuildExtension})
