"""Optimizers under a mode: PyTorch's operators, and the updates that are made without one."""

import pytest
from dispatch_log import Log

import yesca as torch

READ = "_local_scalar_dense.default"
AVERAGED = ["lerp_.Scalar", "mul_.Tensor", "addcmul_.default"]
ADAM = [*AVERAGED, READ, "sqrt.default", "div.Tensor", "add_.Tensor", "addcdiv_.default"]
AMSGRAD = [*ADAM[:4], "maximum.out", *ADAM[4:]]
#: What PyTorch 2.13's modes see of each parameter's second step.
CASES = {
    "SGD": ({"lr": 0.1}, ["add_.Tensor"]),
    "SGD momentum": ({"lr": 0.1, "momentum": 0.9}, ["mul_.Tensor", "add_.Tensor", "add_.Tensor"]),
    "SGD nesterov": (
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        ["add.Tensor", "mul_.Tensor", "add_.Tensor", "add.Tensor", "add_.Tensor"]),
    "Adam": ({}, ["add_.Tensor", *ADAM]),
    "Adam decay": ({"weight_decay": 0.1}, ["add_.Tensor", "add.Tensor", *ADAM]),
    "Adam amsgrad": ({"amsgrad": True}, ["add_.Tensor", *AMSGRAD]),
    "Adam maximize": ({"maximize": True}, None),
    "AdamW": ({}, ["add_.Tensor", "mul_.Tensor", *ADAM]),
    "AdamW amsgrad": ({"amsgrad": True}, ["add_.Tensor", "mul_.Tensor", *AMSGRAD]),
    "Adagrad": ({}, ["add_.Tensor", READ, "addcmul_.default", "sqrt.default", "add_.Tensor",
                     "addcdiv_.default"]),
    "RMSprop": ({}, ["add_.Tensor", "mul_.Tensor", "addcmul_.default", "sqrt.default",
                     "add_.Tensor", "addcdiv_.default"]),
    "RMSprop centered": (
        {"momentum": 0.9, "centered": True},
        ["add_.Tensor", "mul_.Tensor", "addcmul_.default", "lerp_.Scalar", "addcmul.default",
         "sqrt_.default", "add_.Tensor", "mul_.Tensor", "addcdiv_.default", "add_.Tensor"]),
    "Adadelta": ({}, ["add_.Tensor", "mul_.Tensor", "addcmul_.default", "add.Tensor",
                      "sqrt_.default", "add.Tensor", "sqrt_.default", "div_.Tensor",
                      "mul_.Tensor", "mul_.Tensor", "addcmul_.default", "add_.Tensor"]),
    "Adamax": ({}, ["add_.Tensor", "lerp_.Scalar", "mul_.Tensor", "abs.default", "add_.Tensor",
                    "maximum.out", READ, "addcdiv_.default"]),
    "NAdam": ({}, ["add_.Tensor", READ, "mul_.Tensor", *AVERAGED, "div.Tensor", "sqrt.default",
                   READ, "add_.Tensor", READ, "addcdiv_.default", "addcdiv_.default"]),
    "RAdam": ({}, ["add_.Tensor", READ, *AVERAGED, "div.Tensor", "mul.Tensor", "add_.Tensor"]),
}


def made(name):
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(3, 4)), torch.nn.Parameter(torch.randn(4))]
    optimizer = getattr(torch.optim, name.split()[0])(params, **CASES[name][0])

    def step():
        for p in params:
            p.grad = torch.randn_like(p)
        optimizer.step()

    return params, optimizer, step


@pytest.mark.parametrize("name", CASES)
def test_a_mode_sees_pytorchs_operators(name):
    params, optimizer, step = made(name)
    step()
    with Log() as log:
        optimizer.step()
    wanted = CASES[name][1]
    assert wanted is None or log.seen == wanted * 2
    assert not any(one.startswith("yesca.") for one in log.seen)


@pytest.mark.parametrize("name", CASES)
def test_updates_are_those_without_a_mode(name):
    plain, seen = made(name), None
    for _ in range(8):
        plain[2]()
    seen = made(name)
    with Log():
        for _ in range(8):
            seen[2]()
    for a, b in zip(plain[0], seen[0], strict=True):
        assert a.allclose(b, rtol=1e-5, atol=1e-6)
