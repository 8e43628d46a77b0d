from pathlib import Path

from setuptools import find_packages, setup

REQUIRED = [
    "torch>=2.0,!=2.0.0,<2.3",
    "numpy>=1.22,<2",
    "tqdm",
]
EXTRAS = {
    "triton": ["triton==2.2.0"],
    "dev": ["pytest", "black"],
}
# reads a file at build time: dynamic, not needed for the torch pin
EXTRAS["docs"] = Path("docs-requirements.txt").read_text().splitlines()

setup(
    name="graphwalk",
    version="1.0.0",
    packages=find_packages(),
    python_requires=">=3.8",
    install_requires=REQUIRED,
    extras_require=EXTRAS,
)
