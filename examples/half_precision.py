"""Two formats of 16 bits, and what `autocast` does with them: bfloat16 and float16.

    python examples/half_precision.py                  # with PyTorch
    python -m yesca examples/half_precision.py         # with yesca, the same file

bfloat16 has the range of float32 and few digits; float16 has more digits and a narrow range, so
that large numbers overflow and small gradients vanish unless the loss is scaled.
"""

import torch
from torch import nn


def show_formats():
    print("            bytes   largest    smallest   100000      1e-8        1/3")
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        info = torch.finfo(dtype)
        large, small, third = (torch.tensor(v).to(dtype).item() for v in (1e5, 1e-8, 1 / 3))
        print(f"{str(dtype)[6:]:9}{dtype.itemsize:8}{info.max:10.1e}{info.tiny:12.1e}"
              f"{large:9.0f}{small:10.1e}{third:11.6f}")


def show_region():
    """The weights stay as they are: only what is computed in the region is in bfloat16."""
    torch.manual_seed(0)
    layer, norm = nn.Linear(4, 3), nn.LayerNorm(3)
    x = torch.ones(2, 4)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        product = layer(x)  # (2, 3)
        loss = nn.functional.cross_entropy(norm(product.float()), torch.tensor([0, 2]))
    loss.backward()
    for name, tensor in (("weight", layer.weight), ("product", product), ("loss", loss),
                         ("gradient", layer.weight.grad)):
        print(f"{name:9}{str(tensor.dtype)[6:]}")


def show_vanishing():
    """A gradient that float16 cannot hold, and one that was scaled to fit."""
    for scale in (1.0, 65536.0):
        x = torch.ones(1, dtype=torch.float16, requires_grad=True)
        loss = (x * 1.0).float() * 1e-8
        (loss * scale).backward()
        print(f"scale {scale:7.0f}: gradient {x.grad.item() / scale:.2e}")


if __name__ == "__main__":
    show_formats()
    print()
    show_region()
    print()
    show_vanishing()
