"""The package from end to end, in seconds: tensors, the tape, a module, an optimizer, a file."""

import io

import yesca as torch


def test_operators_and_the_tape():
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    y = (x @ x.t()).relu().sum() + x[0].exp().mean() - x.max()
    y.backward()
    assert torch.autograd.grad(x.square().sum(), x)[0].tolist() == [[2.0, -4.0], [1.0, 6.0]]
    assert x.grad.shape == x.shape and bool(torch.isfinite(x.grad).all())


def test_training_and_a_file():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x = torch.rand(64, 2)
    wanted = x[:, :1] * x[:, 1:]
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 20

    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    again.load_state_dict(torch.load(file))
    assert torch.equal(again(x), model(x))
