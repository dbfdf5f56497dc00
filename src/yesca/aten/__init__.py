"""PyTorch's own operators by PyTorch's names, `torch.ops.aten`, and the modes that see them."""
