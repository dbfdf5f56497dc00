"""Tour, 2: reverse mode in thirty lines, then the same gradients from a tensor.

Every operation notes where its result came from and how the result changes with each input. Walking
those notes from the end to the beginning, and multiplying on the way, gives the derivative with
respect to everything at once: that is `backward()`.
"""

import math

import yesca as torch

# --- the idea, with one number at a time ----------------------------------------------------------


class Value:
    """A number that remembers its inputs and its slope with respect to each of them."""

    def __init__(self, number, inputs=()):
        self.number, self.inputs, self.grad = number, inputs, 0.0

    def __add__(self, other):
        return Value(self.number + other.number, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return Value(self.number * other.number, [(self, other.number), (other, self.number)])

    def tanh(self):
        result = math.tanh(self.number)
        return Value(result, [(self, 1.0 - result * result)])

    def backward(self):
        order, seen = [], set()

        def visit(value):  # inputs first, so that the reverse meets a value after all its users
            if value not in seen:
                seen.add(value)
                for source, _ in value.inputs:
                    visit(source)
                order.append(value)

        visit(self)
        self.grad = 1.0
        for value in reversed(order):
            for source, slope in value.inputs:
                source.grad += slope * value.grad


w, x, b = Value(2.0), Value(0.5), Value(-0.25)
y = (w * x + b).tanh() * x
y.backward()
print(f"{y.number:.4f}  dw {w.grad:.4f}  dx {x.grad:.4f}  db {b.grad:.4f}")
#> 0.3176  dw 0.1491  dx 1.2317  db 0.2983

# --- the same with tensors ------------------------------------------------------------------------

w, x, b = (torch.tensor(value, requires_grad=True) for value in (2.0, 0.5, -0.25))
y = (w * x + b).tanh() * x
y.backward()
print(f"{y:.4f}  dw {w.grad:.4f}  dx {x.grad:.4f}  db {b.grad:.4f}")
#> 0.3176  dw 0.1491  dx 1.2317  db 0.2983


# The notes are there to be read: each node names the operation, and points to the nodes before it.
def show(node, depth=0):
    print("  " * depth + node.name().removeprefix("torch::autograd::"))
    for source, _ in node.next_functions:
        if source is not None:
            show(source, depth + 1)


show(y.grad_fn)
#> MulBackward0
#>   TanhBackward0
#>     AddBackward0
#>       MulBackward0
#>         AccumulateGrad
#>         AccumulateGrad
#>       AccumulateGrad
#>   AccumulateGrad

# --- what a node keeps ----------------------------------------------------------------------------

# tanh's slope is written with its result, so the result is kept and must not be overwritten. exp's
# too; sin keeps its input instead.
kept = x.tanh()
kept.detach().zero_()
try:
    kept.backward()
except RuntimeError as error:
    print("modified by an inplace operation" in str(error))
#> True

# --- a derivative of a derivative -----------------------------------------------------------------

# The backward pass is made of ordinary operations, so it can be noted down in its turn.
x = torch.tensor(0.5, requires_grad=True)
(first,) = torch.autograd.grad(x**3, x, create_graph=True)
(second,) = torch.autograd.grad(first, x)
print(first.item(), second.item())
#> 0.75 3.0

# --- checking by differences ----------------------------------------------------------------------

x = torch.tensor([0.1, 0.7], dtype=torch.float64, requires_grad=True)
(x.tanh() * x.exp()).sum().backward()
with torch.no_grad():
    step = 1e-6
    above, below = x + step, x - step
    slope = (above.tanh() * above.exp() - below.tanh() * below.exp()) / (2 * step)
print(torch.allclose(x.grad, slope, rtol=1e-8))
#> True
