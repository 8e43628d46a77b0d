from setuptools import find_packages, setup

setup(
    name="longctx",
    version="0.1.0",
    packages=find_packages(include=["longctx"]),
    python_requires=">=3.10,<3.11",
    install_requires=["torch>=2.2", "transformers==4.44.2", "numpy<2"],
)
