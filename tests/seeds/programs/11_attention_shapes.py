import torch
from torch import nn
from torch.nn import functional as F

B, T, d, H = 2, 5, 16, 4
D = d // H
x = torch.randn(B, T, d)
qkv = nn.Linear(d, 3 * d)

q, k, v = qkv(x).split(d, dim=2)
print("q", tuple(q.shape))
q = q.view(B, T, H, D).transpose(1, 2)
k = k.view(B, T, H, D).transpose(1, 2)
v = v.view(B, T, H, D).transpose(1, 2)
print("q por cabezas", tuple(q.shape))
scores = q @ k.transpose(-2, -1) / D**0.5
print("puntuaciones", tuple(scores.shape))
out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
print("salida", tuple(out.shape))
out = out.transpose(1, 2).contiguous().view(B, T, d)
print("de vuelta", tuple(out.shape))
