"""What optimizers and schedulers answer at their edges."""

import pytest

import yesca as torch
from yesca import optim
from yesca.optim import lr_scheduler


def parameters():
    return [torch.nn.Parameter(torch.ones(2))]


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"])
def test_one_decay_rate_is_too_few(kind):
    with pytest.raises(IndexError):
        getattr(optim, kind)(parameters(), betas=(0.5,))


@pytest.mark.parametrize("kind", ["LambdaLR", "MultiplicativeLR"])
def test_errors_name_the_scheduler(kind):
    optimizer = optim.SGD(parameters(), lr=0.1)
    with pytest.raises(TypeError, match=rf"^{kind}.__init__\(\) missing 1 required positional"):
        getattr(lr_scheduler, kind)(optimizer)


def test_one_group_for_lbfgs():
    optimizer = optim.LBFGS(parameters())
    optimizer.add_param_group({"params": parameters()})
    with pytest.raises(AssertionError, match="Expected exactly one param_group, but got 2"):
        optimizer.step(lambda: torch.tensor(1.0))
