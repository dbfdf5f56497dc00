"""Arguments for every record: those of the generated tests, of torch.linalg, of families that have
tests of their own, and of lists of tensors. The parts of operators get what operators give them.
"""

import contextlib
from functools import cache

import linalg_samples
import operator_cases

import yesca
from yesca.dispatch import call, observing
from yesca.dispatch.call import OPERATORS

_definite = linalg_samples._definite


def _angles(make):
    return make(3, 4, low=0.1), make(3, 4)


def _complexes(make):
    return make.package.complex(*_angles(make))


def _factors(make):
    return [*make.package.linalg.lu_factor(_definite(make))]


def _grown(make):
    return [make(2, 3), make(4), make()]


def _steps(make):
    """Weights, gradients, counts of an optimizer's step, and two states."""
    return [_grown(make), _grown(make), [make.package.ones(()) for _ in range(3)],
            _grown(make), [t.square() for t in _grown(make)]]


def _squares(make):
    """Weights, gradients, counts, and two states that are squares."""
    return [*_steps(make)[:3], *([t.square() for t in _grown(make)] for _ in range(2))]


def _singles(make, value):
    return [make.package.full((), value) for _ in range(3)]


#: `samples(make)` as in operator_samples.
CASES = {
    "cholesky": lambda make: [(_definite(make),), (_definite(make, 2), True)],
    "cholesky_inverse": lambda make: [(_definite(make),)],
    "cholesky_solve": lambda make: [(make(3, 2), _definite(make))],
    **dict.fromkeys(("det", "inverse", "logdet", "slogdet", "matrix_exp", "lu", "linalg_det",
                     "linalg_slogdet", "linalg_eigvals", "linalg_eigvalsh"),
                    lambda make: [(_definite(make),), (_definite(make, 2),)]),
    "lu_solve": lambda make: [(make(3, 2), *_factors(make))],
    "lu_unpack": lambda make: [tuple(_factors(make))],
    "geqrf": lambda make: [(make(4, 3),)],
    "orgqr": lambda make: [make.package.geqrf(make(4, 3))],
    "ormqr": lambda make: [(*make.package.geqrf(make(4, 3)), make(4, 2))],
    "triangular_solve": lambda make: [(make(3, 2), _definite(make)),
                                      (make(2, 3, 2), _definite(make, 2), False, True)],
    "complex": lambda make: [_angles(make)],
    "polar": lambda make: [_angles(make)],
    "angle": lambda make: [(_complexes(make),), (make(3, 4),)],
    **dict.fromkeys(("imag", "view_as_real", "view_as_real_copy", "conj_view"),
                    lambda make: [(_complexes(make),)]),
    **dict.fromkeys(("view_as_complex", "view_as_complex_copy"),
                    lambda make: [(make(3, 4, 2),)]),
    "ctc_loss": lambda make: [(make(6, 2, 4).log_softmax(2), make.integers(2, 3, low=1),
                               (6, 5), (3, 2))],
    "multilabel_margin_loss": lambda make: [(make(2, 3), make.integers(2, 3, low=-1, high=3))],
    "istft": lambda make: [(make.package.stft(
        make(2, 24), 8, window=make.package.ones(8), return_complex=True), 8, None, None,
        make.package.ones(8))],
    "fft_c2c": lambda make: [(_complexes(make), (0, 1), "forward", True)],
    "fft_c2r": lambda make: [(_complexes(make), (1,), "backward", 6)],
    "fft_r2c": lambda make: [(make(3, 5), (1,), "ortho")],
    "special_zeta": lambda make: [(make(3, 4, low=1.5), make(3, 4, low=0.5))],
    **dict.fromkeys((f"special_{kind}_polynomial_{letter}" for kind, letters in (
        ("chebyshev", "tuvw"), ("shifted_chebyshev", "tuvw"), ("hermite", ("h", "he")),
        ("laguerre", "l"), ("legendre", "p")) for letter in letters),
        lambda make: [(make(3, 4), make(3, 4, low=0, high=3))]),
    "_scaled_mm": lambda make: [
        (make(16, 32).to(make.package.float8_e4m3fn), make(32, 16).to(make.package.float8_e5m2),
         make.package.ones(()), make.package.ones(()), None, None, make.package.float32)],
    "fill_diagonal": lambda make: [(make(3, 4), 1.0)],
    "_adam_step": lambda make: [
        (*_steps(make), [], 0.125, 0.75, 0.875, 0.0625, 1e-8, decoupled, False, True)
        for decoupled in (False, True)],
    "_sgd_step": lambda make: [
        (*_steps(make)[:2], [], _steps(make)[3], 0.125, 0.75, 0.25, 0.0, True, False, False,
         False)],
    "_adagrad_step": lambda make: [(*_squares(make)[:4], 0.125, 0.25, 0.0625, 1e-8, False, True)],
    "_rmsprop_step": lambda make: [
        (*_squares(make)[:4], _steps(make)[3], [], 0.125, 0.75, 1e-8, 0.0625, 0.5, True, True)],
    "_adadelta_step": lambda make: [(*_squares(make), 0.5, 0.75, 1e-6, 0.0625, False, True)],
    "_adamax_step": lambda make: [(*_steps(make), 0.125, 0.75, 0.875, 0.0, 1e-8, False, True)],
    "_nadam_step": lambda make: [
        (*_steps(make), _singles(make, 0.5), 0.125, 0.75, 0.875, 0.0625, 1e-8, 0.004, decoupled,
         False, True) for decoupled in (False, True)],
    "_radam_step": lambda make: [
        (*_steps(make), 0.125, 0.75, 0.875, 0.0625, 1e-8, decoupled, True, False)
        for decoupled in (False, True)],
    "_rprop_step": lambda make: [(*_squares(make), 0.5, 1.25, 1e-3, 2.0, False, True)],
    "_asgd_step": lambda make: [
        (*_steps(make)[:4], _singles(make, 0.125), _singles(make, 0.5), 0.125, 1e-2, 0.75, 1.0,
         0.0625, False, True)],
    **dict.fromkeys((f"_each_{name}_list" for name in ("add", "div")),
                    lambda make: [(_grown(make), _grown(make))]),
    **dict.fromkeys((f"_each_{name}_number" for name in ("add", "mul", "div")),
                    lambda make: [(_grown(make), 0.75)]),
    "_each_mul_list": lambda make: [(_grown(make), _grown(make))],
    "_each_lerp": lambda make: [(_grown(make), _grown(make), 0.25)],
    "_each_unscale": lambda make: [(_grown(make), 0.5)],
}
#: They do not compute with whole numbers.
FLOATS_ONLY = CASES.keys() | linalg_samples.CASES.keys()
#: Results that nobody has written.
UNWRITTEN = frozenset("""
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize uninitialised
    uninitialised_like
    """.split())
#: Draws: their numbers come from the state of a generator, which functions of other names give.
DRAWS = frozenset({"random_chances", "random_fill", "random_new"})
#: They have tests of their own: an operand that is packed, one that must not be tracked.
APART = frozenset({"_quantized_linear", "fake_quantize_per_channel_affine", *(
    f"_quantized_{name}_walk" for name in ("gru", "lstm", "rnn_relu", "rnn_tanh"))})
#: Kinds that are not made of others.
SINGLE = ("elementwise", "view", "creation", "multi")


def own(one, dtype="float32", small=False, seed=0):
    """The cases of a record that has some, else None."""
    samples = CASES.get(one.name) or linalg_samples.CASES.get(one.name)
    if samples is None:
        return operator_cases.cases(one, yesca, dtype, small=small, seed=seed) \
            if operator_cases.generated(one) else None
    if dtype not in operator_cases.FLOATS:
        return []
    make = operator_cases.Maker(yesca, dtype, seed=sum(map(ord, one.name)) + seed)
    return [tuple(case) for case in samples(make)]


def function_of(one):
    """What a case is given to."""
    if own(one) is None:
        return lambda *values: call.call(one, values)
    only_inplace = one.inplace and not one.function and not one.method
    return getattr(OPERATORS, one.name + "_" * only_inplace)


class Parts(observing.Observer):
    """Keeps the first calls of the records that have no cases."""

    def __init__(self, wanted):
        self.calls = {name: [] for name in wanted}
        self.copying = False

    def call(self, record, values, target=None, out=None):
        found = self.calls.get(record.name)
        if found is not None and len(found) < 2 and target is None and out is None \
                and not self.copying:
            self.copying = True
            found.append(operator_cases.map_tensors(yesca, tuple(values), _copied))
            self.copying = False
        return call.unobserved(record, values, target, out)

    def function(self, function, args, kwargs):
        return function(*args, **kwargs)

    def node(self, name, sequence):
        return contextlib.nullcontext()

    def range(self, name, annotation=True):
        return contextlib.nullcontext()


def _copied(tensor):
    with yesca.no_grad():
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)


@cache
def names():
    """All records but those whose results nobody has written, in order."""
    return tuple(name for name in operator_cases.records() if name not in UNWRITTEN | DRAWS | APART)


@cache
def parts():
    """{name: calls} of the records that only other operators call, and what these call with."""
    records = operator_cases.records()
    watch = Parts(name for name in names() if own(records[name]) is None)
    callers = [records[name] for name in names() if records[name].kind not in SINGLE]
    observing.observe(watch)
    try:
        _others()
        for one in callers:
            for case in (own(one) or ())[:3]:
                _whole(one, case)
    finally:
        observing.observe(None)
    return watch.calls


def _others():
    """Calls with other operands than the cases have: without gradients, of more rows, drawn."""
    make = operator_cases.Maker(yesca)
    yesca.linalg.eigvalsh(_definite(make))
    yesca.linalg.svdvals(make(3, 4))
    yesca.linalg.lstsq(make(4, 3), make(4, 2))
    yesca.cdist(make(30, 3), make(30, 3))
    yesca._standard_gamma(make(4, low=0.5).requires_grad_()).sum().backward()
    for tracked in (False, True):
        shares = [make(2, 3, low=0.25, high=0.75).requires_grad_(tracked) for _ in range(3)]
        yesca._dirichlet_grad(*shares)
        yesca._standard_gamma_grad(*shares[:2])
    for layer in (yesca.nn.LSTM(3, 2), yesca.nn.GRU(3, 2), yesca.nn.RNN(3, 2),
                  yesca.nn.RNN(3, 2, nonlinearity="relu")):
        layer(make(4, 2, 3))[0].sum().backward()
    yesca.norm(make(2, 3).cdouble(), 3)
    yesca.linalg.vector_norm(make(3), 2.5)


def _whole(one, case):
    """An operator and its derivatives."""
    leaves = [t.requires_grad_() for t in operator_cases.tensors_in(yesca, case)
              if t.is_leaf and (t.dtype.is_floating_point or t.dtype.is_complex)]
    try:
        results = operator_cases.tensors_in(yesca, operator_cases.call(one, function_of(one), case))
        tracked = [t for t in results if t.requires_grad]
        if tracked:
            grads = [t.detach() for t in tracked]
            yesca.autograd.grad(tracked, leaves, grads, allow_unused=True)
    except (RuntimeError, TypeError, IndexError, ValueError):
        return  # it is compared where it is compiled


def cases(one, dtype="float32"):
    """The cases of any record, its own or met as a part."""
    found = own(one, dtype)
    if found is None:
        found = parts()[one.name] if dtype == "float32" else []
    return found
