"""State that a data set keeps in arrays, tensors and buffers."""

import numpy as np
import torch
from cases import case, main
from keeps import Keeps


@case(workers=2)
class NumpyOut(Keeps):
    def count(self):
        np.add(self.array, 1, out=self.array)
        return int(self.array[0])


@case(workers=2)
class NumpyAt(Keeps):
    def count(self):
        np.add.at(self.array, [0], 1)
        return int(self.array[0])


@case(workers=2, always=True)
class NumpyView(Keeps):
    def count(self):
        view = self.array.reshape(1, 1).T
        view += 1
        return int(self.array[0])


@case(workers=2)
class TensorInPlace(Keeps):
    def __init__(self):
        super().__init__()
        self.tensor = torch.zeros(1, dtype=torch.int64)

    def count(self):
        self.tensor.add_(1)
        return self.tensor.item()


@case(workers=2, always=True)
class BufferWritten(Keeps):
    def __init__(self):
        super().__init__()
        self.bytes = bytearray(1)

    def count(self):
        memoryview(self.bytes)[0] = self.bytes[0] + 1
        return self.bytes[0]


@case(workers=2)
class ArrayIterator(Keeps):
    def count(self):
        for cell in np.nditer(self.array, op_flags=["readwrite"]):
            cell[...] = cell + 1
        return int(self.array[0])


if __name__ == "__main__":
    main()
