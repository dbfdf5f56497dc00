"""The base class: groups, state dicts, hooks."""

import copy
import pickle

import pytest

import yesca as torch
from yesca.optim import SGD, Adam, Optimizer
from yesca.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)


def parameter(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def stepped_adam(**options):
    params = [parameter(), parameter(3.0)]
    optimizer = Adam(params, **options)
    for param in params:
        param.grad = torch.ones_like(param)
    optimizer.step()
    return optimizer


def test_options_of_a_group_override_the_defaults():
    first, second = parameter(), parameter()
    optimizer = SGD([{"params": first}, {"params": [second], "lr": 0.5}], lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    assert optimizer.param_groups[0]["params"][0] is first
    assert optimizer.defaults["lr"] == 0.1


def test_named_parameters():
    first, second = parameter(), parameter()
    optimizer = SGD([("a", first), ("b", second)])
    group = optimizer.param_groups[0]
    assert group["param_names"] == ["a", "b"]
    assert group["params"][1] is second
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="Some param names are missing"):
        SGD([("a", first), second])
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [parameter()]})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SGD(parameter()), TypeError, "params argument given to the optimizer"),
        (lambda: SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda: SGD([3]), TypeError, "optimizer can only optimize Tensors"),
        (lambda: SGD([parameter() * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: SGD([{"params": {parameter()}}]), TypeError, "ordered collections"),
        (lambda: SGD([parameter()], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda: SGD([parameter()], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda: SGD([parameter()], nesterov=True), ValueError, "Nesterov momentum requires"),
        (lambda: SGD([parameter()], lr=torch.ones(2)), ValueError, "must be 1-element"),
        (lambda: Adam([parameter()], betas=(1.0, 0.9)), ValueError, "beta parameter at index 0"),
        (lambda: Adam([parameter()], betas=(0, 0.9)), ValueError, "both floats or both Tensors"),
        (lambda: Adam([parameter()], eps=-1.0), ValueError, "Invalid epsilon value"),
        (
            lambda: Adam([parameter()], lr=torch.tensor(0.1), foreach=True),
            ValueError,
            "lr as a Tensor is not supported",
        ),
        (
            lambda: Adam([parameter()], fused=True, foreach=True),
            RuntimeError,
            "`fused` and `foreach` cannot be `True` together",
        ),
        (lambda: Optimizer([parameter()], {}).step(), NotImplementedError, "^$"),
        (
            lambda: Optimizer([parameter()], {"lr": required}),
            ValueError,
            "parameter group didn't specify a value of required optimization parameter lr",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_errors_of_add_param_group():
    param = parameter()
    optimizer = SGD([param])
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optimizer.add_param_group([param])
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter"):
        optimizer.add_param_group({"params": [param]})
    with pytest.warns(UserWarning, match="duplicate parameters"):
        twice = parameter()
        optimizer.add_param_group({"params": [twice, twice]})


def test_state_dict_counts_parameters_over_groups():
    optimizer = SGD([{"params": [parameter(), parameter()]}, {"params": [parameter()]}])
    packed = optimizer.state_dict()
    assert [group["params"] for group in packed["param_groups"]] == [[0, 1], [2]]
    assert packed["state"] == {}


def test_loaded_state_continues_the_run():
    saved = copy.deepcopy(stepped_adam(lr=0.5).state_dict())
    optimizer = Adam([parameter(), parameter(3.0)])
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.5
    state = optimizer.state[optimizer.param_groups[0]["params"][1]]
    assert state["step"].item() == 1.0
    assert state["exp_avg"].tolist() == pytest.approx([0.1])


def test_loading_casts_to_the_parameter_but_keeps_the_step():
    saved = stepped_adam().state_dict()
    params = [torch.ones(2, dtype=torch.float64), torch.ones(1, dtype=torch.float64)]
    optimizer = Adam(params)
    optimizer.load_state_dict(saved)
    state = optimizer.state[params[0]]
    assert state["exp_avg"].dtype == torch.float64
    assert state["step"].dtype == torch.float32


def test_loading_does_not_change_the_saved_dict():
    saved = stepped_adam().state_dict()
    optimizer = Adam([parameter(), parameter(3.0)])
    optimizer.load_state_dict(saved)
    assert saved["param_groups"][0]["params"] == [0, 1]
    assert optimizer.param_groups[0] is not saved["param_groups"][0]


def test_loading_another_shape_of_groups_fails():
    saved = stepped_adam().state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        Adam([{"params": [parameter()]}, {"params": [parameter()]}]).load_state_dict(saved)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        Adam([parameter()]).load_state_dict(saved)


def test_old_checkpoints_with_a_number_as_step():
    saved = stepped_adam().state_dict()
    for state in saved["state"].values():
        state["step"] = 7
    del saved["param_groups"][0]["amsgrad"]
    optimizer = Adam([parameter(), parameter(3.0)])
    optimizer.load_state_dict(saved)
    group = optimizer.param_groups[0]
    assert group["amsgrad"] is False
    step = optimizer.state[group["params"][0]]["step"]
    assert isinstance(step, torch.Tensor)
    assert step.item() == 7.0


def test_zero_grad():
    param = parameter()
    optimizer = SGD([param])
    param.grad = torch.ones(2)
    kept = param.grad
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is kept
    assert kept.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert param.grad is None


def test_closure_runs_with_gradients_and_its_loss_is_returned():
    param = parameter(3.0)
    optimizer = SGD([param], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert param.tolist() == [0.0]
    assert optimizer.step() is None


def test_step_hooks():
    param = parameter(1.0)
    param.grad = torch.ones(1)
    optimizer, calls = SGD([param], lr=0.5), []
    before = optimizer.register_step_pre_hook(lambda *_: calls.append(("pre", param.item())))
    optimizer.register_step_post_hook(lambda *_: calls.append(("post", param.item())))
    optimizer.step()
    assert calls == [("pre", 1.0), ("post", 0.5)]
    before.remove()
    optimizer.step()
    assert calls[2:] == [("post", 0.0)]


def test_a_pre_hook_replaces_the_arguments():
    optimizer = SGD([parameter()])
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: 5), {}))
    assert optimizer.step() == 5
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_global_hooks():
    calls = []
    handles = [
        register_optimizer_step_pre_hook(lambda *_: calls.append("pre")),
        register_optimizer_step_post_hook(lambda *_: calls.append("post")),
    ]
    SGD([parameter()]).step()
    for handle in handles:
        handle.remove()
    SGD([parameter()]).step()
    assert calls == ["pre", "post"]


def test_state_dict_hooks():
    optimizer, calls = SGD([parameter()], lr=0.5), []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda opt, packed: {**packed, "extra": 1})
    packed = optimizer.state_dict()
    assert calls == ["first", "second"]
    assert packed.pop("extra") == 1
    packed["param_groups"][0]["lr"] = 0.25
    optimizer.register_load_state_dict_pre_hook(lambda opt, loaded: packed)
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append("loaded"))
    optimizer.load_state_dict({})
    assert optimizer.param_groups[0]["lr"] == 0.25
    assert calls[-1] == "loaded"


def test_hooks_around_the_step_of_a_subclass():
    class Halving(Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    param.mul_(0.5)

    param = parameter(4.0)
    optimizer, calls = Halving([param]), []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    optimizer.step()
    assert param.item() == 2.0
    assert calls == [1]


def test_repr():
    text = repr(SGD([parameter()], lr=0.1))
    assert text.splitlines()[:3] == [
        "SGD (",
        "Parameter Group 0",
        "    dampening: 0",
    ]
    assert "    lr: 0.1\n" in text
    assert text.endswith("    weight_decay: 0\n)")
    two = repr(SGD([{"params": [parameter()]}, {"params": [parameter()], "lr": 0.2}], lr=0.1))
    assert "    weight_decay: 0\n\nParameter Group 1\n    dampening: 0\n" in two


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_independent(duplicate):
    original = stepped_adam(lr=0.5)
    copied = duplicate(original)
    param = copied.param_groups[0]["params"][0]
    assert copied.state[param]["step"].item() == 1.0
    param.grad = torch.ones(2)
    copied.step()
    assert copied.state[param]["step"].item() == 2.0
    assert original.state[original.param_groups[0]["params"][0]]["step"].item() == 1.0


def test_replaced_state_is_used():
    """Programs move or reset state tensors in place of the old ones."""
    optimizer = stepped_adam()
    param = optimizer.param_groups[0]["params"][0]
    fresh = torch.zeros(2)
    optimizer.state[param]["exp_avg"] = fresh
    param.grad = torch.ones(2)
    optimizer.step()
    assert fresh.tolist() == pytest.approx([0.1, 0.1])


def test_swapped_in_parameters_and_state():
    optimizer = stepped_adam(lr=0.5)
    own, state = optimizer.param_groups[0]["params"], optimizer.state
    before = [param.tolist() for param in own]
    other = copy.deepcopy(optimizer.state_dict())
    other["param_groups"][0]["lr"] = 0.25
    swapped = {"a": torch.zeros(2), "b": torch.zeros(1)}
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, swapped, other):
        for param in swapped.values():
            param.grad = torch.ones_like(param)
        optimizer.step()
    assert swapped["a"].tolist() == pytest.approx([-0.25, -0.25])
    assert other["state"][1]["step"].item() == 2.0
    assert optimizer.param_groups[0]["params"] is own
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.state is state
    assert state[own[1]]["step"].item() == 1.0
    assert [param.tolist() for param in own] == before
    del other["param_groups"][0]["eps"]
    refused = pytest.raises(RuntimeError, match=r"Keys only in live: \['eps'\]")
    with refused, torch.optim.swap_in_optimizer_params_and_state(optimizer, swapped, other):
        pass
