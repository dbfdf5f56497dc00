"""Arguments for the functions of torch.linalg whose facts are stored: see operator_facts.py.

Tests of values and derivatives need matrices that are far from singular, and have their own.
"""


def _definite(make, *batch, n=3):
    """Symmetric matrices with large numbers on the diagonal."""
    flat = []
    count = 1
    for size in batch:
        count *= size
    for _ in range(count):
        upper = {(i, j): make.numbers.uniform(-0.5, 0.5) for i in range(n) for j in range(i, n)}
        flat += [upper[min(i, j), max(i, j)] + (n if i == j else 0) for i in range(n)
                 for j in range(n)]
    return make.lay(make.tensor(flat, make.dtype, (*batch, n, n)))


def _one(*shapes):
    return lambda make: [(make(*shape),) for shape in shapes]


def _solvable(make):
    return [(make(3, 3), make(3, 2)), (make(2, 3, 3), make(2, 3, 2)), (make(2, 3, 3), make(2, 3)),
            (make(3, 3), make(2, 3), False)]


_SQUARE = _one((3, 3), (2, 3, 3))
_POSITIVE = lambda make: [(_definite(make),), (_definite(make, 2),)]  # noqa: E731
_WIDE_AND_TALL = _one((4, 3), (2, 3, 4))
CASES = {
    **dict.fromkeys(("inv", "inv_ex", "det", "slogdet", "eigvals", "matrix_exp", "lu_factor",
                     "lu_factor_ex"), _SQUARE),
    **dict.fromkeys(("ldl_factor", "ldl_factor_ex"), _POSITIVE),
    "ldl_solve": lambda make: [(make(3, 3), make.tensor([1, 2, 3], "int32", (3,)), make(3, 2))],
    **dict.fromkeys(("cholesky", "cholesky_ex", "eigh", "eigvalsh", "eig"), _POSITIVE),
    **dict.fromkeys(("pinv", "svdvals", "lu", "matrix_rank", "diagonal"), _WIDE_AND_TALL),
    "qr": lambda make: [(make(4, 3),), (make(2, 3, 4), "r"), (make(4, 3), "complete")],
    "svd": lambda make: [(make(4, 3), False), (make(2, 3, 4), False), (make(4, 3),)],
    "solve": _solvable, "solve_ex": _solvable,
    "solve_triangular": lambda make: [(make(3, 3), make(3, 2), True),
                                      (make(2, 3, 3), make(2, 3, 2), False)],
    "lu_solve": lambda make: [(make(3, 3), make.tensor([1, 2, 3], "int32", (3,)), make(3, 2))],
    "lstsq": lambda make: [(make(4, 3), make(4, 2))],
    "tensorinv": lambda make: [(make(2, 3, 6),)],
    "tensorsolve": lambda make: [(make(2, 3, 6), make(2, 3))],
    "vector_norm": lambda make: [(make(3, 4),), (make(3, 4), 1, 0), (make(3, 4), 3, (0, 1), True),
                                 (make(3, 4), float("inf"), 1)],
    "matrix_norm": lambda make: [(make(4, 3),), (make(2, 3, 4), 2), (make(4, 3), "nuc"),
                                 (make(4, 3), 1), (make(4, 3), float("-inf"))],
    "norm": lambda make: [(make(4, 3),), (make(4, 3), 1), (make(3, 4), 2, 0)],
    "cond": lambda make: [(make(3, 3),), (make(3, 3), 1), (make(4, 3), 2)],
    "matrix_power": lambda make: [(make(3, 3), n) for n in (3, -2, 1, 0)],
    "householder_product": lambda make: [(make(4, 3), make(3))],
    "cross": lambda make: [(make(2, 3), make(2, 3)), (make(3, 4), make(3, 4), 0)],
    "vander": lambda make: [(make(4),), (make(2, 3), 5)],
}
CASES = {f"linalg_{name}": samples for name, samples in CASES.items()}
