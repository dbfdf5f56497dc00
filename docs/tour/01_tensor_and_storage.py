"""Tour, 1: a tensor is a block of bytes and a way to walk over it.

A `View` below is the whole idea in fifteen lines: a list of numbers, a shape, a stride for each
dimension (how far apart two neighbours lie) and an offset (where the first one lies). The tensors
of yesca are that, with the bytes in a Storage.
"""

import yesca as torch

# --- the idea, with a list for the bytes ----------------------------------------------------------


class View:
    def __init__(self, numbers, shape, stride, offset=0):
        self.numbers, self.shape, self.stride, self.offset = numbers, shape, stride, offset

    def place(self, *index):
        """Where an element lies: its index times the strides, from the offset on."""
        return self.offset + sum(i * step for i, step in zip(index, self.stride))

    def transposed(self):
        """The numbers stay where they are; they are only walked over in another order."""
        return View(self.numbers, self.shape[::-1], self.stride[::-1], self.offset)

    def row(self, number):
        return View(self.numbers, self.shape[1:], self.stride[1:], self.place(number))


table = View(list(range(12)), shape=(3, 4), stride=(4, 1))
turned = table.transposed()
print(table.place(1, 2), turned.place(2, 1), table.row(1).place(2))
#> 6 6 6
print(turned.shape, turned.stride, turned.numbers is table.numbers)
#> (4, 3) (1, 4) True

# --- the same with tensors ------------------------------------------------------------------------

x = torch.arange(12).reshape(3, 4)
t = x.t()
print(x.stride(), t.stride(), t.untyped_storage() is x.untyped_storage())
#> (4, 1) (1, 4) True
print(x[1].storage_offset(), x[:, 2].stride(), x[::2].stride())
#> 4 (4,) (8, 1)

# Writing through one view is seen through all: there is only one block of bytes.
t[2, 1] = -1
print(x[1])
#> tensor([ 4,  5, -1,  7])

# A stride of zero repeats a number without a copy. That is all that broadcasting is.
row = torch.tensor([10, 20, 30, 40])
stretched = row.expand(3, 4)
print(stretched.stride(), stretched.untyped_storage().nbytes())
#> (0, 1) 32
print((x + row).equal(x + stretched))
#> True

# --- when a copy is needed ------------------------------------------------------------------------

# `view` only finds new strides for the same bytes. Row by row, `t` jumps about in memory, and no
# stride describes "all twelve in that order":
try:
    t.view(12)
except RuntimeError as error:
    print(str(error).split(" (")[0])
#> view size is not compatible with input tensor's size and stride

# `contiguous` writes the numbers in the order in which they are read, into a storage of their own.
ordered = t.contiguous()
print(ordered.view(12))
#> tensor([ 0,  4,  8,  1,  5,  9,  2, -1, 10,  3,  7, 11])
print(ordered.stride(), ordered.untyped_storage() is x.untyped_storage())
#> (3, 1) False

# --- who sees a write -----------------------------------------------------------------------------

# A tensor and its views count writes together; autograd uses the count to notice that a value which
# it kept for the backward pass has been overwritten (see 02_a_derivative.py).
before = x._version
t.zero_()
print(x._version - before, x.sum().item())
#> 1 0
