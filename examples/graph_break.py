"""A Python `if` over a tensor's value, between two islands of compiled products.

    python examples/graph_break.py                                    # with PyTorch
    python -m yesca examples/graph_break.py                           # with yesca, the same file
    TORCH_LOGS=graph_breaks python -m yesca examples/graph_break.py   # the log shows each break

No compiler knows which way the `if` goes before the products above it have run. So they run, as
one compiled program; Python decides; what follows is a second program. That is a graph break: no
error, and no change of any result, only a place where two programs could not become one.
"""

import torch

BATCH, WIDTH = 64, 256


def islands(x, first, second, third):
    hidden = torch.relu(x @ first)  # (B, WIDTH): the first island
    hidden = torch.relu(hidden @ second)  # (B, WIDTH)
    if hidden.mean() > 1.0:  # the bridge: Python needs the value
        return torch.tanh(hidden @ third)  # (B, WIDTH): the second island
    return (hidden @ third).exp() - 1.0  # or this one


def main():
    torch.manual_seed(0)
    x = torch.randn(BATCH, WIDTH)
    weights = [torch.randn(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(3)]
    compiled = torch.compile(islands)

    for name, scale in (("small", 1.0), ("large", 10.0), ("small", 1.0)):
        expected = islands(scale * x, *weights)
        difference = (compiled(scale * x, *weights) - expected).abs().max().item()
        print(f"{name} input: largest difference {difference:.1e}")

    found = torch._dynamo.explain(islands)(x, *weights)
    print(f"programs: {found.graph_count}, graph breaks: {found.graph_break_count}")
    for one in found.break_reasons:
        print(f"because: {one.reason.splitlines()[0]}")
        print(f"at line: {one.user_stack[-1].line}")


if __name__ == "__main__":
    main()
