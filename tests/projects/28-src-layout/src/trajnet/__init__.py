import numpy as np

ORIGIN = np.zeros(2)
