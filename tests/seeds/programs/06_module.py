import torch
from torch import nn


class Bigram(nn.Module):
    """One row of logits for the next token, for each token."""

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids)  # (B, T) -> (B, T, vocab)


torch.manual_seed(0)
model = Bigram(5)
print(sum(p.numel() for p in model.parameters()))
print(model(torch.tensor([[0, 3, 1]])).shape)
print([name for name, _ in model.named_parameters()])
