"""One record in one module is a whole operator: function, method, in-place form, out=, meta run,
kernel, gradients, and the generated cases."""

import importlib.util
import sys

import gradient_checks
import operator_cases
import pytest
from interpreted import interpreted

import yesca
from yesca.dispatch.call import OPERATORS
from yesca.operators import families, record

SOURCE = '''
"""A family of one operator."""

from yesca.loops.scalar import exp
from yesca.operators.kinds import elementwise

bump = elementwise(
    "bell_of(Tensor self, Tensor other, *, Scalar scale=1) -> Tensor",
    lambda x, y, scale: exp(-(x * x)) * y * scale, dtype="float", aliases=("bell_curve",),
    backward={"self": lambda grad, self, result: grad * result * self * -2.0,
              "other": lambda grad, self, scale: grad * exp(-(self * self)) * scale},
    doc="scale * other * exp(-self ** 2).")
'''


@pytest.fixture(scope="module", autouse=True)
def family(tmp_path_factory):
    """The family, found as the others are; gone afterwards."""
    families.load_all()
    path = tmp_path_factory.mktemp("family") / "bells.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("bells", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del record.RECORDS["bell_of"], record.ALIASES["bell_curve"]
    for home in (OPERATORS, yesca.functional, yesca):
        for name in ("bell_of", "bell_of_", "bell_curve"):
            vars(home).pop(name, None)
    for name in ("bell_of", "bell_of_", "bell_curve"):
        if name in vars(yesca.Tensor):
            delattr(yesca.Tensor, name)
    sys.modules.pop("bells", None)


def test_function_method_and_alias():
    x, y = yesca.tensor([0.0, 1.0]), yesca.tensor([2.0, 3.0])
    wanted = yesca.exp(-x * x) * y
    for made in (yesca.bell_of(x, y), x.bell_of(y), yesca.bell_curve(x, y)):
        assert yesca.allclose(made, wanted)
    assert yesca.allclose(yesca.bell_of(x, y, scale=3), 3 * wanted)
    assert yesca.allclose(yesca.bell_of(x, 2), yesca.exp(-x * x) * 2)
    assert "scale * other" in yesca.bell_of.__doc__


def test_inplace_and_out():
    x, y = yesca.tensor([0.0, 1.0]), yesca.tensor([2.0, 3.0])
    wanted, before = yesca.bell_of(x, y), x._version
    out = yesca.empty(0)
    assert yesca.bell_of(x, y, out=out) is out
    assert out.tolist() == wanted.tolist()
    assert x.bell_of_(y) is x
    assert x.tolist() == wanted.tolist()
    assert x._version == before + 1


def test_promotion_meta_and_errors():
    x = yesca.empty(3, 1, device="meta")
    made = yesca.bell_of(x, yesca.empty(4, dtype=yesca.float64, device="meta"))
    assert (made.shape, made.dtype, made.device.type) == ((3, 4), yesca.float64, "meta")
    assert yesca.bell_of(yesca.tensor([1]), yesca.tensor([1])).dtype == yesca.float32
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        yesca.bell_of(yesca.ones(2), yesca.ones(3))


def test_kernel_equals_interpreter():
    one = record.RECORDS["bell_of"]
    for case in operator_cases.cases(one, yesca):
        with interpreted():
            wanted = operator_cases.call(one, OPERATORS.bell_of, case)
        operator_cases.check_same(
            yesca, operator_cases.call(one, OPERATORS.bell_of, case), wanted, 1e-6, 1e-6)


def test_gradients():
    x = yesca.tensor([0.3, -0.7], dtype=yesca.float64)
    y = yesca.tensor([1.5, 0.2], dtype=yesca.float64)

    def function(*inputs):
        return [yesca.bell_of(*inputs, scale=2)]

    gradient_checks.check(yesca, function, [x, y])
    gradient_checks.check_twice(yesca, function, [x, y])
    result = yesca.bell_of(x.requires_grad_(), y)
    assert type(result.grad_fn).__name__ == "BellOfBackward0"
