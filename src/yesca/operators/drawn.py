"""Random results on the tape: what was drawn, and the parameters that it was drawn with.

To its parameters a draw is constant, so their gradients are zero, or PyTorch refuses them.
"""

# Names: drawn_bernoulli drawn_bernoulli_p drawn_binomial drawn_dirichlet drawn_gamma drawn_normal
# Names: drawn_normal_mean drawn_normal_std drawn_poisson

from __future__ import annotations

from typing import Any

from ..loops.ir import Expr
from .arithmetic import no_derivative
from .kinds import elementwise


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
_drawn("gamma", "concentration", "NotImplemented", "_standard_gamma")
