"""Which family declares a name, told without importing it."""

import yesca as torch
from yesca.dispatch import functions
from yesca.operators import families, record


def test_sources_name_all_operators(run_python):
    """A name that is put together from parts stands in a line `# Names:` of its family's head."""
    program = """
from yesca.operators import families, record
known = {*families.known_names()}
families.load_all()
names = {n for n, r in record.RECORDS.items() if r.derived_from is None} | {*record.ALIASES}
print(sorted(names - known))
"""
    assert run_python("-c", program).stdout == "[]\n"


def test_the_tensor_class_knows_its_methods(run_python):
    """Tensors have no `__getattr__`, which would make each call of a method slower."""
    program = """
import yesca
from yesca.dispatch import functions
from yesca.operators import families, record
there = {*vars(yesca.Tensor)}
families.load_all()
names = {*record.RECORDS, *record.ALIASES, *functions.METHODS}
names |= {n + "_" for n in names}
print(sorted(n for n in names if n not in there and functions.bound_method(n)))
print('__getattr__' in vars(yesca.Tensor))
"""
    done = run_python("-c", program)
    assert done.stdout == "[]\nFalse\n", done.stderr


def test_a_private_method_is_found_before_its_family_is_loaded(run_python):
    done = run_python("-c", "import yesca; print(yesca.ones(1)._neg_view().tolist())")
    assert done.stdout == "[-1.0]\n", done.stderr


def test_promised_methods():
    x = torch.tensor([0.5, -1.0])
    assert torch.Tensor.arctan2(x, x).shape == x.arctan2(x).shape == (2,)
    assert x.absolute_() is x
    for wrong in ("arange", "filled", "arange_", "sort_", "nothing"):
        for _ in range(2):
            assert not hasattr(x, wrong) and not hasattr(torch.Tensor, wrong)
            assert not hasattr(torch.nn.Parameter(x), wrong)
    x.sinc_mark = 1
    assert x.sinc_mark == 1
    assert {"absolute_", "erf", "size"} <= {*dir(torch.Tensor)} & {*dir(x)}
    assert callable(functions.bound_method("arctan2"))
    assert record.ALIASES["absolute"].name == "abs" and "abs" in families.known_names()
