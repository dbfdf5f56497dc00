import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
x = torch.ones(1, 4)
model.eval()  # without dropout, two calls give one result
with torch.no_grad():
    a, b = model(x), model(x)
print(a.equal(b), a.requires_grad)
