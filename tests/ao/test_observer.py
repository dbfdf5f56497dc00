"""Observers: scales and zero points are PyTorch's."""

import json
from pathlib import Path

import pytest
import quantized_cases as cases

import yesca as torch
from yesca.ao.quantization import (
    MinMaxObserver, PerChannelMinMaxObserver, PlaceholderObserver, QConfig, default_dynamic_qconfig,
    default_weight_observer,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "fixtures" / "quantized.json").read_text(
    encoding="utf-8"))["observers"]


@pytest.mark.parametrize("name", cases.OBSERVERS)
def test_what_they_choose(name):
    scale, zero, *dtypes = cases.observed(torch, cases.OBSERVERS[name])
    wanted_scale, wanted_zero, *wanted_dtypes = GOLDEN[name]
    assert scale == pytest.approx(wanted_scale, rel=2e-7) and dtypes == wanted_dtypes
    assert zero == pytest.approx(wanted_zero, rel=1e-6)


def test_before_anything_was_seen():
    for observer in (MinMaxObserver(), PerChannelMinMaxObserver()):
        with pytest.warns(UserWarning, match="must run observer before"):
            scale, zero = observer.calculate_qparams()
        assert (scale.tolist(), zero.tolist()) == ([1.0], [0])
        assert observer(torch.empty(0)).numel() == 0


def test_state_and_text():
    observer = PerChannelMinMaxObserver()
    x = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])
    assert observer(x) is x
    assert repr(observer) == \
        "PerChannelMinMaxObserver(min_val=tensor([-1., -4.]), max_val=tensor([2., 3.]))"
    other = PerChannelMinMaxObserver()
    other.load_state_dict(observer.state_dict())
    assert other.calculate_qparams()[0].equal(observer.calculate_qparams()[0])
    assert list(other.state_dict()) == ["eps", "min_val", "max_val"]
    observer.reset_min_max_vals()
    assert observer.min_val.numel() == 0
    made = MinMaxObserver()
    made(x)
    assert repr(made) == "MinMaxObserver(min_val=-4.0, max_val=3.0)"


def test_what_is_refused():
    for make, kind in ((lambda: MinMaxObserver(qscheme=torch.per_channel_affine),
                        NotImplementedError),
                       (lambda: PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine),
                        NotImplementedError),
                       (lambda: MinMaxObserver(dtype=torch.float32), AssertionError),
                       (lambda: MinMaxObserver(quant_min=3, quant_max=9), AssertionError),
                       (lambda: MinMaxObserver(quant_min=0, quant_max=0), AssertionError),
                       (lambda: QConfig(MinMaxObserver(), MinMaxObserver), ValueError),
                       (lambda: PlaceholderObserver().calculate_qparams(), Exception)):
        with pytest.raises(kind):
            make()
    with pytest.warns(UserWarning, match="reduce_range will be deprecated"):
        assert MinMaxObserver(reduce_range=True).quant_max == 127


def test_arguments_given_beforehand():
    made = default_weight_observer.with_args(eps=0.5)()
    assert made.dtype is torch.qint8 and made.eps.item() == 0.5
    assert "MinMaxObserver" in repr(default_weight_observer)
    counted = iter(range(9))
    several = MinMaxObserver.with_callable_args(quant_max=lambda: 100 + next(counted))
    assert [several.with_args(quant_min=0)().quant_max for _ in range(2)] == [100, 101]
    assert default_dynamic_qconfig.activation().is_dynamic
    assert default_dynamic_qconfig == QConfig(*default_dynamic_qconfig)
