import torch

print(torch.tensor([1, 2]).dtype, torch.tensor([1.0, 2.0]).dtype)
ids = torch.tensor([3, 7])
print((ids / 2).dtype, (ids // 2).dtype)
print(torch.tensor([1.0]).to(torch.bfloat16).dtype)
