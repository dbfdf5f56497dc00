"""Random results on the tape: what was drawn, and the parameters that it was drawn with.

To its parameters a draw is constant, so their gradients are zero, or PyTorch refuses them. But a
gamma number moves with its shape as the quantile does that it is.
"""

# Names: drawn_bernoulli drawn_bernoulli_p drawn_binomial drawn_dirichlet drawn_gamma drawn_normal
# Names: drawn_normal_mean drawn_normal_std drawn_poisson

from __future__ import annotations

from typing import Any

from ..core.dtypes import float64
from ..core.spec import spec
from ..loops.ir import Expr
from .arithmetic import no_derivative
from .kinds import composite, elementwise, rows

_GRAIN = 64  # elements of a chunk: each takes a series


def _zero(grad: Expr) -> Any:
    return 0


def _drawn(name: str, parameters: str, node_name: str, refused: str = "") -> None:
    names = parameters.split()
    formula = no_derivative(refused) if refused else _zero
    elementwise(
        f"drawn_{name}(Tensor self, {', '.join(f'Tensor {n}' for n in names)}) -> Tensor",
        lambda drawn, *rest: drawn, node_name=node_name, method=False, inplace=False, out=False,
        backward={"self": lambda grad: grad, **dict.fromkeys(names, formula)},
        doc="A random result with the parameters that it was drawn with.")


_drawn("poisson", "rates", "PoissonBackward0")
_drawn("bernoulli", "chances", "BernoulliBackward0")
_drawn("normal_mean", "mean", "NormalBackward1")
_drawn("normal_std", "std", "NormalBackward2")
_drawn("normal", "mean std", "NormalBackward3")
_drawn("bernoulli_p", "chances", "NotImplemented", "bernoulli")
_drawn("binomial", "count prob", "NotImplemented", "binomial")
_drawn("dirichlet", "concentration", "NotImplemented", "_sample_dirichlet")


# ---- numbers that move with their parameters ---------------------------------------------------

def _keep(p: Any, self: Any, *parameters: Any) -> None:
    p.flat(lambda x: x, [self], [p.result(self.spec)])


rows("drawn_gamma(Tensor self, Tensor concentration) -> Tensor", _keep, kind="copy", method=False,
     node_name="StandardGammaBackward0", backward={
         "concentration": lambda ops, grad, concentration, result:
         ops.mul(grad, ops._standard_gamma_grad(concentration, result))},
     doc="Gamma numbers with the shapes that they were drawn with.")


def _slope(function: str) -> Any:
    def program(p: Any, *operands: Any) -> None:
        made = p.result(spec(float64, operands[0].spec.shape, None, p.device))
        p.native(function, [made, *(_dense(p, x) for x in operands)], [], made.spec.numel, _GRAIN)
    return program


def _dense(p: Any, x: Any) -> Any:
    """An operand with its elements one after the other."""
    if x.spec.contiguous:
        return x
    dense = p.temporary(tuple(x.spec.shape), x.spec.dtype)
    p.flat(lambda value: value, [x], [dense])
    return dense


rows("gamma_slope(Tensor a, Tensor x, Tensor psi) -> Tensor", _slope("gamma_slope_words"),
     kind="library", method=False)
rows("beta_slope(Tensor x, Tensor a, Tensor total, Tensor psi) -> Tensor",
     _slope("beta_slope_words"), kind="library", method=False)


def _as_drawn(ops: Any, name: str, made: Any, like: Any, parameters: tuple[Any, ...]) -> Any:
    """In the dtype of what was drawn; on the tape, where a derivative is refused."""
    made = ops.to_dtype(made, like.dtype)
    if any(p.requires_grad for p in parameters):
        return getattr(ops, f"drawn_{name}")(made, *parameters)
    return made


def _gamma_grad(ops: Any, self: Any, output: Any) -> Any:
    a, x = (ops.to_dtype(t.detach(), float64) for t in ops.broadcast_tensors(self, output))
    made = ops.gamma_slope(a, x, ops.digamma(a))
    return _as_drawn(ops, "gamma_slope", made, self, (self, output))


def _dirichlet_grad(ops: Any, x: Any, alpha: Any, total: Any) -> Any:
    place, a, whole = (ops.to_dtype(t.detach(), float64)
                       for t in ops.broadcast_tensors(x, alpha, total))
    made = ops.beta_slope(place, a, whole, ops.sub(ops.digamma(a), ops.digamma(whole)))
    return _as_drawn(ops, "beta_slope", made, x, (x, alpha, total))


rows("drawn_gamma_slope(Tensor made, Tensor self, Tensor output) -> Tensor", _keep, kind="copy",
     method=False, node_name="NotImplemented",
     backward=dict.fromkeys(("self", "output"), no_derivative("_standard_gamma_grad")))
rows("drawn_beta_slope(Tensor made, Tensor x, Tensor alpha, Tensor total) -> Tensor", _keep,
     kind="copy", method=False, node_name="NotImplemented",
     backward=dict.fromkeys(("x", "alpha", "total"), no_derivative("_dirichlet_grad")))
composite("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", _gamma_grad, method=False,
          doc="How gamma numbers move with the shapes that they were drawn with.")
composite("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", _dirichlet_grad,
          method=False, doc="How Dirichlet numbers x move with their concentrations alpha of the "
          "sum total, over 1 - x.")
