import torch

w = torch.tensor(2.0, requires_grad=True)
loss = (3 * w - 12) ** 2  # 36 at w = 2
loss.backward()  # d(loss)/dw goes to w.grad
print(loss.item(), w.grad)

opt = torch.optim.SGD([w], lr=0.01)
opt.step()  # w - lr * w.grad
print(w)
opt.zero_grad()
print(w.grad)
