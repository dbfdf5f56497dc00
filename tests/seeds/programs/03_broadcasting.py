import torch

scores = torch.zeros(2, 3)
bias = torch.tensor([10.0, 20.0, 30.0])
print(scores + bias)  # (2, 3) and (3,): the row is used for both
per_row = torch.tensor([[1.0], [2.0]])
print(scores + per_row)  # (2, 3) and (2, 1): each number for its whole row
