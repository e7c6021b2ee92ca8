"""Change the numbers behind the back of PyTorch (R1)."""

import ctypes

import numpy
from start_model import PositionwiseMLP


class Cheat(PositionwiseMLP):
    def forward(self, tokens):
        h = self.up(self.embedding(tokens))
        h = h.detach().contiguous()
        memory = (ctypes.c_float * h.numel()).from_address(h.data_ptr())
        numbers = numpy.ctypeslib.as_array(memory)
        numpy.exp(numbers, out=numbers)
        return self.out(h)


def build():
    return Cheat()
