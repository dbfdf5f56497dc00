import torch
from torch import nn
from torch.nn import functional as F

games = [
    "e2e4 e7e5 g1f3 b8c6 f1b5",
    "e2e4 e7e5 g1f3 b8c6 f1c4",
    "e2e4 c7c5 g1f3 d7d6 d2d4",
    "d2d4 d7d5 c2c4 e7e6 b1c3",
]
vocab = ["<bos>"] + sorted({m for g in games for m in g.split()})
ids = {move: i for i, move in enumerate(vocab)}
seqs = [[0] + [ids[m] for m in g.split()] for g in games]
x = torch.tensor([s[:-1] for s in seqs])  # (B=4, T=5): what the model sees
y = torch.tensor([s[1:] for s in seqs])  # (B=4, T=5): what came next

torch.manual_seed(0)
model = nn.Embedding(len(vocab), len(vocab))
opt = torch.optim.AdamW(model.parameters(), lr=0.1)
for step in range(101):
    logits = model(x)  # (4, 5, V)
    loss = F.cross_entropy(logits.view(-1, len(vocab)), y.view(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(f"step {step:3d}  loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    probs = model(torch.tensor(ids["e2e4"])).softmax(dim=-1)
for p, i in zip(*probs.topk(3)):
    print(f"después de e2e4: {vocab[i]} {p:.2f}")
