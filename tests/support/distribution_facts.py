"""What is recorded of distributions: the same code runs with yesca and with PyTorch."""

import math
from contextlib import contextmanager

from distribution_cases import CONSTRAINTS, ONES, OTHERS, TRANSFORMS


def numbers(tensor):
    """The shape and the elements, ten digits each."""
    values = tensor.detach().double().flatten().tolist()
    return [list(tensor.shape), [float(f"{v:.10g}") for v in values]]


@contextmanager
def doubles(package):
    """float64 by default."""
    before = package.get_default_dtype()
    package.set_default_dtype(package.float64)
    try:
        yield
    finally:
        package.set_default_dtype(before)


class Case:
    """A text, evaluated with one of the two packages."""

    def __init__(self, package, text):
        self.torch, self.leaves = package, []
        T = package.distributions
        self.made = eval(text, {"torch": package, "T": T, "C": T.constraints, "t": self.leaf,
                                "math": math})

    def leaf(self, values):
        made = self.torch.tensor(values, dtype=self.torch.float64, requires_grad=True)
        self.leaves.append(made)
        return made

    def gradients(self, result):
        """Of the parameters, each element of the result having a weight of its own."""
        if not result.requires_grad:
            return None
        weights = self.torch.arange(1, result.numel() + 1, dtype=result.dtype)
        total = (result.reshape(-1) * weights).sum()
        grads = self.torch.autograd.grad(total, self.leaves, allow_unused=True, retain_graph=True)
        return [None if g is None else numbers(g) for g in grads]

    def with_gradients(self, function):
        """What a function gives and the gradients, or the classes of their errors."""
        made = tried(function)
        if isinstance(made, str):
            return made
        return [numbers(made), tried(lambda: self.gradients(made))]

    def seeded(self, method, *arguments):
        self.torch.manual_seed(0)
        return getattr(self.made, method)(*arguments)


def tried(function):
    """What a function gives, or the class of its error."""
    try:
        return function()
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return type(error).__name__


def distribution_facts(package, text):
    """Everything that is compared of a distribution."""
    with doubles(package):  # one of PyTorch's densities has a constant of the default dtype
        return facts_of(package, text)


def facts_of(package, text):
    case = Case(package, text)
    d = case.made
    facts = {"shapes": [list(d.batch_shape), list(d.event_shape)],
             "has": [bool(d.has_rsample), bool(d.has_enumerate_support)]}
    drawn = case.seeded("sample", (3,))
    facts["sample"] = numbers(drawn)
    facts["dtype"] = str(drawn.dtype).rpartition(".")[2]

    if d.has_rsample:
        facts["rsample"] = case.with_gradients(lambda: case.seeded("rsample", (2,)))
    facts["log_prob"] = case.with_gradients(lambda: d.log_prob(drawn))
    facts["entropy"] = case.with_gradients(d.entropy)
    for name in ("mean", "mode", "variance", "stddev"):
        facts[name] = tried(lambda name=name: numbers(getattr(d, name)))
    facts["cdf"] = case.with_gradients(lambda: d.cdf(drawn))
    quantiles = package.full(d.batch_shape + d.event_shape, 0.3, dtype=package.float64)
    facts["icdf"] = case.with_gradients(lambda: d.icdf(quantiles))
    if d.has_enumerate_support:
        facts["support"] = [tried(lambda e=e: numbers(d.enumerate_support(e)))
                            for e in (True, False)]
    wide = d.expand((2, *d.batch_shape))
    facts["expanded"] = [type(wide).__name__, list(wide.batch_shape), list(wide.event_shape),
                         tried(lambda: numbers(wide.log_prob(drawn[:2])))]
    package.manual_seed(0)
    facts["expanded"].append(numbers(wide.sample()))
    return facts


def divergence_facts(package, pair):
    case = Case(package, f"({ONES[pair[0]]}, {OTHERS[pair[1]]})")
    return case.with_gradients(lambda: package.distributions.kl_divergence(*case.made))


def transform_facts(package, text):
    case = Case(package, text)
    f, x = case.made, case.leaf(TRANSFORMS[text])
    y = f(x)
    return {
        "forward": case.with_gradients(lambda: y),
        "inverse": case.with_gradients(lambda: f.inv(y)),
        "change": case.with_gradients(lambda: f.log_abs_det_jacobian(x, y)),
        "change back": case.with_gradients(lambda: f.inv.log_abs_det_jacobian(y, x)),
        "blocks": [f.domain.event_dim, f.codomain.event_dim, bool(f.bijective)],
        "shapes": [list(f.forward_shape(x.shape)), list(f.inverse_shape(y.shape))],
    }


def constraint_facts(package, text):
    constraint = Case(package, text).made
    values = package.tensor(CONSTRAINTS[text], dtype=package.float64)
    return [repr(constraint), constraint.check(values).tolist(), constraint.is_discrete,
            constraint.event_dim]


def error_facts(package, text):
    """The class of an error, and what it says."""
    try:
        made = Case(package, text).made
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["", repr(made)]


def shown(package, text):
    return repr(Case(package, text).made)
