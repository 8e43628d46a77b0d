import torch  # noqa: F401  (loads the libraries that _C links against)

from voxelops._C import fill

__all__ = ["fill"]
