import torch

x = torch.arange(24).view(2, 3, 4)  # (B, T, d)
heads = x.view(2, 3, 2, 2)  # (B, T, H, D)
t = heads.transpose(1, 2)  # (B, H, T, D)
print(t.shape, t.is_contiguous())
try:
    t.view(2, 3, 4)
except RuntimeError as err:
    print("RuntimeError:", str(err).split(" (")[0])
back = t.transpose(1, 2).contiguous().view(2, 3, 4)
print(back.equal(x))
