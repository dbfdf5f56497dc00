import torch

logits = torch.tensor([[2.0, 0.5, -1.0, 0.1],
                       [0.3, 1.5, 0.2, -0.4]])  # two examples, four tokens
print(logits[0])
print(logits[:, 1])
print(logits.argmax(dim=-1))
target = torch.tensor([2, 1])  # one right token an example
print(logits.gather(-1, target.unsqueeze(-1)).squeeze(-1))
print(logits[logits > 1.0])
