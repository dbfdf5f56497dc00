import torch
from torch.nn import functional as F

logits = torch.tensor([[2.0, 0.5, -1.0, 0.1]])
target = torch.tensor([0])
p = logits.softmax(dim=-1)
print(p)
print(-p[0, 0].log(), F.cross_entropy(logits, target))
print(F.cross_entropy(logits, torch.tensor([2])))
