import torch

x = torch.tensor([[1, 2, 3], [4, 5, 6]])
print(x.shape, x.dtype)
print(x.sum(dim=0), x.sum(dim=1))
print(x.float().mean())
