import torch  # noqa: F401  (loads libtorch before the extension)

from ._C import hash_coords

__all__ = ["hash_coords"]
