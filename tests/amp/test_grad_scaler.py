"""GradScaler: scaling, unscaling, skipped steps, how the scale moves, its state."""

import pickle

import pytest

import yesca as torch


def made(*values, **options):
    weight = torch.tensor(list(values) or [1.0, 1.0], requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    return weight, optimizer, torch.amp.GradScaler("cpu", **{"init_scale": 8.0, **options})


def step(weight, optimizer, scaler, factor=1.0):
    optimizer.zero_grad()
    scaler.scale((weight * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_a_step_uses_unscaled_gradients():
    weight, optimizer, scaler = made()
    step(weight, optimizer, scaler)
    assert weight.tolist() == [0.5, 0.5]
    assert scaler.get_scale() == 8.0


def test_scale_of_containers():
    _, _, scaler = made()
    x = torch.ones(1)
    assert scaler.scale([x, (x,)])[1][0].item() == 8.0
    assert [t.item() for t in scaler.scale(iter([x]))] == [8.0]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_unscale_then_clip():
    weight, optimizer, scaler = made()
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert weight.tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="called after step"):
        scaler.unscale_(optimizer)
    scaler.update()


@pytest.mark.parametrize("bad", [float("inf"), float("nan"), -float("inf")])
def test_a_step_that_overflowed_is_left_out(bad):
    weight, optimizer, scaler = made()
    step(weight, optimizer, scaler, bad)
    assert weight.tolist() == [1.0, 1.0]
    assert scaler.get_scale() == 4.0
    step(weight, optimizer, scaler)
    assert weight.tolist() == [0.5, 0.5]


def test_one_bad_gradient_among_many():
    weights = [torch.ones(n, requires_grad=True) for n in (1, 3, 5000)]
    optimizer = torch.optim.Adam(weights)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    loss = weights[0].sum() + weights[1].sum() + (weights[2] * torch.ones(5000)).sum()
    scaler.scale(loss).backward()
    weights[2].grad[4321] = float("nan")
    before = weights[0].grad._version
    scaler.step(optimizer)
    scaler.update()
    assert all((w == 1).all() for w in weights)
    assert weights[0].grad.item() == 1.0
    assert weights[0].grad._version > before


def test_the_scale_grows_after_good_steps():
    weight, optimizer, scaler = made(growth_interval=2, growth_factor=4.0)
    scales = []
    for _ in range(4):
        step(weight, optimizer, scaler)
        scales.append(scaler.get_scale())
    assert scales == [8.0, 32.0, 32.0, 128.0]


def test_the_scale_stays_finite():
    weight, optimizer, scaler = made(init_scale=3e38, growth_interval=1)
    step(weight, optimizer, scaler, 1e-3)
    assert scaler.get_scale() == pytest.approx(3e38)


def test_a_scale_of_ones_own():
    _, optimizer, scaler = made()
    with pytest.raises(AssertionError, match="Attempted update but _scale is None"):
        scaler.update()
    scaler.scale(torch.ones(1))
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.update(2.0)
    assert scaler.get_scale() == 2.0
    scaler.update(torch.tensor([4.0]))
    assert scaler.get_scale() == 4.0
    with pytest.raises(AssertionError, match="new_scale should be a float"):
        scaler.update(torch.ones(2))


def test_float16_gradients_are_refused():
    weight = torch.ones(2, dtype=torch.float16, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cpu")
    scaler.scale(weight.float().sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(optimizer)


def test_a_disabled_scaler_passes_through():
    weight, optimizer, scaler = made(enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5]
    assert scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    assert not scaler.is_enabled()


def test_cuda_is_disabled_with_a_warning():
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
        assert not torch.amp.GradScaler().is_enabled()


def test_arguments_are_checked():
    with pytest.raises(AssertionError, match="The growth factor must be > 1.0"):
        torch.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="The backoff factor must be < 1.0"):
        torch.amp.GradScaler("cpu", backoff_factor=1.0)
    _, optimizer, scaler = made()
    scaler.scale(torch.ones(1))
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)


def test_state_goes_into_another_scaler():
    weight, optimizer, scaler = made(growth_interval=5)
    step(weight, optimizer, scaler)
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5,
                     "growth_interval": 5, "_growth_tracker": 1}
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == state
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        other.load_state_dict({})


def test_an_optimizer_that_scales_itself():
    seen = []

    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    weight = torch.ones(2, requires_grad=True)
    optimizer, scaler = Own([weight], lr=0.1), torch.amp.GradScaler("cpu", init_scale=8.0)
    step(weight, optimizer, scaler)
    step(weight, optimizer, scaler, float("inf"))
    assert seen == [(8.0, 0.0), (8.0, 1.0)]
    assert scaler.get_scale() == 4.0
