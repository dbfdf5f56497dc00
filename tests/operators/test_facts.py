"""Dtypes, strides and saved tensors of operators are those that PyTorch was recorded with."""

import json
from pathlib import Path

import operator_cases
import operator_facts

import yesca
from yesca.dispatch.call import OPERATORS

RECORDED = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "operators.json").read_text())


#: Layouts in which results lie elsewhere, and why that is right.
OTHER_PLACES = {
    # PyTorch copies the whole storage that self is a part of; here results begin their storage.
    **dict.fromkeys(("diagonal_scatter", "select_scatter", "slice_scatter"), ("offset",)),
    # The library that PyTorch calls refuses batches without an element.
    **{f"fft_{inverse}{kind}fft{rank}": ("empty",) for inverse in ("", "i")
       for kind in ("", "h", "r") for rank in ("", "2")},
    # PyTorch writes products into views that it then refuses to write to.
    "conv_tbc": ("transposed", "expanded"),
    # PyTorch takes another way for empty operands, which does not look at the mask either.
    "scaled_dot_product_attention": ("empty",),
}
#: Operators that refuse a write that PyTorch lets through, and why that is right.
REFUSE_MORE = {
    "kron": "PyTorch does not notice the write, and its gradient is wrong",
    "matmul": "PyTorch keeps copies where it expands batches, here nothing is copied",
    "scaled_dot_product_attention": "keeps a mask of truth values, PyTorch its copy as numbers",
    "tensordot": "PyTorch keeps copies where it reorders dimensions, here nothing is copied",
}
#: Elementwise operators that keep other tensors than PyTorch, and why.
OTHERS_KEPT = {
    "special_ndtr": "in one launch, where PyTorch keeps a scaled copy of the operand",
    "special_log_ndtr": "a function of the operand alone stays exact where the result is large",
}
#: Operators whose results come from another last step than PyTorch's, and so have another name.
OTHER_NODES = {
    "as_strided_copy": "parts of it: a node would not know where self begins",
    "kron": "a view", "linalg_multi_dot": "no vector is made a matrix",
    "matrix_power": "the first power is a copy",
    "nanquantile": "the last dimension goes by a view", "quantile": "as nanquantile",
    "norm_except_dim": "all norms of vectors are one operator's",
    "native_channel_shuffle": "can be differentiated here", "stft": "as quantile",
}


def recorded(one, fact):
    """What PyTorch does, or None where it has no such operator."""
    number = RECORDED["operators"].get(one.name, {}).get(fact)
    return None if number is None else RECORDED["patterns"][number]


def WANTED(one):  # noqa: N802 - read by conftest
    return one.name in RECORDED["operators"]


@operator_cases.only(lambda one: recorded(one, "dtypes") is not None)
def test_dtypes(one):
    """Promotion of dtypes, 0-dim tensors included, and the dtypes that are refused."""
    wanted = recorded(one, "dtypes")
    assert by_key(operator_facts.dtypes(
        yesca, one, getattr(OPERATORS, one.name), device="meta")) == by_key(wanted)


def by_key(grouped):
    return {key: value for value, keys in grouped.items() for key in keys.split()}


@operator_cases.only(lambda one: recorded(one, "strides") is not None)
def test_strides(one):
    """Results lie in memory as PyTorch's do, at the same offset, and share memory where they do."""
    got = operator_facts.strides(yesca, one, getattr(OPERATORS, one.name))
    for layout, wanted in recorded(one, "strides").items():
        if layout not in OTHER_PLACES.get(one.name, ()):
            assert got[layout] == wanted, layout


def test_saved(one):
    """A write between forward and backward is refused only where PyTorch refuses it.

    Refusing less is right as long as nothing that is kept has changed: some formulas read shapes
    alone where PyTorch keeps the tensor. Elementwise operators keep exactly the same.
    """
    wanted = recorded(one, "saved") or []
    got = operator_facts.saved(yesca, one, getattr(OPERATORS, one.name))
    if one.kind == "elementwise":
        assert (got == wanted) is (one.name not in OTHERS_KEPT)
    elif one.name not in REFUSE_MORE:
        for mine, other in zip(got, wanted or [""] * len(got)):
            if mine[:1] not in "-!" and other[:1] not in ("-", "!"):
                assert set(mine.split()) <= set(other.split())


@operator_cases.only(lambda one: recorded(one, "bytes") is not None)
def test_bytes(one):
    """The tape keeps at most as much memory as PyTorch's does."""
    got = operator_facts.kept_bytes(yesca, one, getattr(OPERATORS, one.name))
    for mine, other in zip(got, recorded(one, "bytes"), strict=True):
        assert other == "!" or mine <= other


def test_exceptions_are_needed():
    """No operator is excepted that does as PyTorch does."""
    for name, layouts in OTHER_PLACES.items():
        one = operator_cases.records()[name]
        got = operator_facts.strides(yesca, one, getattr(OPERATORS, name))
        assert all(got[layout] != recorded(one, "strides")[layout] for layout in layouts)


@operator_cases.only(lambda one: recorded(one, "nodes") is not None)
def test_nodes(one):
    """`grad_fn` has PyTorch's name, of in-place calls too; what PyTorch refuses is left out."""
    wanted = recorded(one, "nodes")
    got = operator_facts.nodes(yesca, one, getattr(OPERATORS, one.name))
    differ = [(mine, other) for mine, other in zip(got, wanted, strict=True)
              for mine, other in zip(mine.split("|"), other.split("|"))
              if not other.startswith("!") and mine != other]
    assert bool(differ) is (one.name in OTHER_NODES), differ
