"""`jacrev`, `jacfwd` and `jvp` of every record agree with central differences, in float64."""

import random

import function_cases
import operator_cases
import pytest

import yesca as torch
from yesca.func import grad, jacfwd, jacrev, jvp, vmap
from yesca.utils._pytree import tree_leaves

STEP = 1e-6
#: Operators of all kinds, with derivatives that take part in others.
NESTED = """
    add mul pow_general atan2 sigmoid where sum amax prod logsumexp cumsum softmax layer_norm
    batch_norm rms_norm mse_loss cross_entropy linear conv1d max_pool1d matmul select unfold
    index_select gather scatter cat sort nextafter linalg_det linalg_inv linalg_cholesky
    linalg_eigvalsh linalg_svdvals cdist fft_r2c norm""".split()
#: `vmap` refuses them (see test_batched_records.py), and with it whole Jacobians.
UNBATCHED = ("allclose", "equal", "nonzero", "nonzero_tuple")
#: Elements of the operands of a second case, at most.
SMALL = 40
#: Cases of a record, at most: qr without Q is refused, some vectors of a full svd are any.
MOST = {"linalg_qr": 1, "linalg_svd": 2}
#: Operands that have no derivative.
CONSTANT = {"batch_norm": ("running_mean", "running_var"), "cross_entropy": ("weight",),
            "nll_loss": ("weight",)}
_NONE = "derivative for aten::{0} is not implemented", "with aten::{0} that does not support it."
_MISSING = "the derivative for '{0}' is not implemented.", "with {1} that does not support it bec"
#: What PyTorch does not differentiate either: its words backward and forward.
REFUSED = {
    **{name: [text.format(name) for text in _NONE]
       for name in ("floor_divide", "heaviside", "histogram", "linalg_ldl_factor_ex")},
    "histogramdd": ("derivative for aten::_histogramdd_", "with aten::_histogramdd_"),
    "linalg_ldl_factor": [text.format("linalg_ldl_factor_ex") for text in _NONE],
    "linalg_ldl_solve": [text.format("linalg_ldl_solve") for text in _NONE],
    "drawn_bernoulli_p": [text.format("bernoulli") for text in _NONE],
    "drawn_binomial": [text.format("binomial") for text in _NONE],
    "drawn_dirichlet": [text.format("_sample_dirichlet") for text in _NONE],
    **{own: [text.format(listed, name) for text in _MISSING] for own, listed, name in (
        ("geqrf", "geqrf", "geqrf"), ("igamma", "igamma: input", "igamma"),
        ("igammac", "igammac: input", "igammac"), ("special_zeta", "zeta", "special_zeta"))},
    "unique": (_MISSING[0].format("_unique2"), "vmap: "),
    "unique_consecutive": (_MISSING[0].format("unique_consecutive"), "vmap: "),
}
#: Smooth functions whose results PyTorch leaves off the tape.
LEFT_OFF = ("_affine_range", "_fused_scale", *("special_" + name for name in """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1
    modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
    spherical_bessel_j0 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v
    chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
    legendre_polynomial_p shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
    shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w""".split()))
#: Quantised and brought back: the slope is declared, straight through.
DECLARED = ("_fake_quantize", "_fake_quantize_channels", "fake_quantize_per_channel_affine",
            "fake_quantize_per_tensor_affine")


def _symmetric(x, *rest):
    return (x + x.mT) / 2, *rest


#: What the operands are made of, where a record looks at a half of them or wants sums of 1.
MADE = {
    **dict.fromkeys(("cholesky", "linalg_cholesky", "linalg_cholesky_ex", "linalg_eigh",
                     "linalg_eigvalsh"), _symmetric),
    "cholesky_inverse": lambda x: (x.tril(),),
    "cholesky_solve": lambda b, x: (b, x.tril()),
    "ctc_loss": lambda x, *rest: (x.log_softmax(2), *rest),
    "fill_diagonal": lambda x: (x.clone(),),
}


def pytest_generate_tests(metafunc):
    if "one" in metafunc.fixturenames:
        chosen = [one for one in function_cases.records() if metafunc.function.selects(one)]
        metafunc.parametrize("one", chosen, ids=[one.name for one in chosen])


def functions(one):
    """The record as a function of the smooth operands of its smallest cases, and two lists of
    these; the second case only if it is small."""
    found = []
    for case in function_cases.cases(one)[:MOST.get(one.name)]:
        places = _places(one, case)
        size = sum(case.examples[0][k].numel() for k in places)
        if size:
            examples = [[torch.view_as_real(t) if t.is_complex() else t
                         for t in (tensors[k] for k in places)] for tensors in case.examples]
            found.append((size, _function(one, case, places), examples))
    found.sort(key=lambda entry: entry[0])
    return [entry[1:] for k, entry in enumerate(found[:2]) if not k or entry[0] <= SMALL]


def _places(one, case):
    constant = [t for p, value in zip(one.schema.parameters, case.arguments)
                if p.name in CONSTANT.get(one.name, ()) for t in function_cases.tensors_of(value)]
    return [k for k, t in enumerate(case.examples[0])
            if t.dtype in (torch.float64, torch.complex128)
            and not any(t is c for c in constant)]


def _function(one, case, places):
    def function(*given):
        tensors = list(case.examples[0])
        for k, x in zip(places, given, strict=True):
            tensors[k] = torch.view_as_complex(x) if tensors[k].is_complex() else x
        return tuple(function_cases.tensors(case(*MADE.get(one.name, lambda *all: all)(*tensors))))

    return function


def smooth(function):
    """The results that may have derivatives."""
    return lambda *given: tuple([t for t in function(*given) if t.dtype.is_floating_point])


def differences(function, given):
    """The Jacobian by central differences: per result, per operand."""
    columns = []
    for k, x in enumerate(given):
        columns.append([])
        for i in range(x.numel()):
            step = torch.zeros(x.numel(), dtype=x.dtype)
            step[i] = STEP
            up, down = (function(*given[:k], x + s * step.reshape(x.shape), *given[k + 1:])
                        for s in (1, -1))
            columns[k].append([(a - b) / (2 * STEP) for a, b in zip(up, down, strict=True)])
    return [[torch.stack([c[r] for c in own], -1).reshape((*made.shape, *x.shape))
             for own, x in zip(columns, given, strict=True)]
            for r, made in enumerate(function(*given))]


def close(found, wanted):
    for mine, other in zip(found, wanted, strict=True):
        assert mine.shape == other.shape
        assert ((mine - other).abs() <= 1e-5 * (1 + other.abs())).all()


def differentiable(one):
    return one.kind != "multi" and not one.name.endswith("_") \
        and one.name not in (*REFUSED, *LEFT_OFF, *DECLARED, *UNBATCHED) and bool(functions(one))


@operator_cases.only(differentiable)
def test_jacobians(one):
    """All rows at once, all columns at once, and a direction."""
    numbers = random.Random(1)
    for whole, (given, _) in functions(one):
        function = smooth(whole)
        if len(function(*given)) < len(whole(*given)):  # integers or truth values as well
            with pytest.raises(RuntimeError, match="All outputs of f must be floating-point or"):
                jacrev(whole)(*given)
        wanted = differences(function, given)
        every = tuple(range(len(given)))
        for jacobian in (jacrev, jacfwd):
            for mine, other in zip(jacobian(function, every)(*given), wanted, strict=True):
                close(mine, other)
        along = [torch.tensor([numbers.uniform(-1, 1) for _ in range(x.numel())],
                              dtype=x.dtype).reshape(x.shape) for x in given]
        _, tangents = jvp(function, tuple(given), tuple(along))
        close(tangents, [sum((part * d).sum(tuple(range(made.dim(), part.dim())))
                             if d.dim() else part * d for part, d in zip(row, along, strict=True))
                         for row, made in zip(wanted, function(*given), strict=True)])


def scalar(function):
    """A sum of the results, none of which counts as another."""
    def total(*given):
        return sum((made * made).sum() * (k + 1) for k, made in enumerate(function(*given)))

    return total


@operator_cases.only(lambda one: one.name in NESTED)
def test_nested(one):
    """Derivatives of batches, batches of derivatives and of batches, second derivatives."""
    whole, (given, other) = functions(one)[0]
    function = smooth(whole)
    total, every = scalar(function), tuple(range(len(given)))
    batch = [torch.stack(pair) for pair in zip(given, other, strict=True)]

    def same(batched, single):
        rows = [tree_leaves(single(*values)) for values in (given, other)]
        for mine, wanted in zip(tree_leaves(batched(*batch)), zip(*rows, strict=True), strict=True):
            close([mine], [torch.stack(wanted)])

    def pushed(*values):
        return jvp(function, values, tuple(values))[1]

    for single in (grad(total, every), pushed, jacrev(function, every)):
        same(vmap(single), single)
    twice = vmap(vmap(function))(*[torch.stack([x, x]) for x in batch])
    once = vmap(function)(*batch)
    close(twice, [torch.stack([x, x]) for x in once])
    whole = grad(lambda *values: vmap(total)(*values).sum(), every)(*batch)
    close(whole, vmap(grad(total, every))(*batch))
    for inner in (function, grad(total, every)):
        _, pushes = jvp(vmap(inner), tuple(batch), tuple(batch))
        close(pushes, vmap(lambda *v, f=inner: jvp(f, v, v)[1])(*batch))
    second = differences(grad(total, every), given)
    for hessian in (jacfwd(jacrev(total, every), every), jacrev(jacfwd(total, every), every)):
        for mine, wanted in zip(hessian(*given), second, strict=True):
            for a, b in zip(mine, wanted, strict=True):
                assert ((a - b).abs() <= 1e-4 * (1 + b.abs())).all()


@operator_cases.only(lambda one: one.name in REFUSED)
def test_refusals(one):
    """What PyTorch does not differentiate says so, backward and forward."""
    backward, forward = REFUSED[one.name]
    whole, (given, _) = functions(one)[0]
    function = smooth(whole)
    for jacobian, message in ((jacrev, backward), (jacfwd, forward)):
        with pytest.raises(RuntimeError) as caught:
            jacobian(function, tuple(range(len(given))))(*given)
        assert message in str(caught.value)
    assert type(caught.value) is NotImplementedError or forward == "vmap: "


@operator_cases.only(lambda one: one.name in LEFT_OFF)
def test_left_off(one):
    """What PyTorch leaves off the tape is constant to derivatives, though it is not."""
    moves = []
    for function, (given, _) in functions(one):
        assert not function(*[x.clone().requires_grad_() for x in given])[0].requires_grad
        for jacobian in (jacfwd, jacrev):
            assert all((part == 0).all() for part in jacobian(function)(*given))
        moves += [part.nan_to_num().abs().max() for part in differences(function, given)[0]]
    assert max(moves) > 0.01
