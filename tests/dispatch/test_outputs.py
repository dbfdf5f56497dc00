"""`out=`: what it may be, what a mode sees of it, memory that it shares with operands."""

import pytest

import yesca as torch

A = torch.rand(3, 3)
V = torch.ones(3)


class Log(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((func.__name__, len(args), sorted(kwargs or {})))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("name", "args", "shapes"), [
    ("add", (V, V), [(3,)]), ("mm", (A, A), [(3, 3)]), ("matmul", (A, A), [(3, 3)]),
    ("cat", ([V, V],), [(6,)]), ("stack", ([V, V],), [(2, 3)]), ("where", (V > 0, V, V), [(3,)]),
    ("sum", (A, 0), [(3,)]), ("std", (A, 0), [(3,)]), ("linalg_norm", (A,), [()]),
    ("linalg_svd", (A,), [(3, 3), (3,), (3, 3)]), ("max", (V, V), [(3,)]),
    ("arange", (3,), [(3,)]), ("rand", (3,), [(3,)]),
])
def test_a_mode_sees_one_call(name, args, shapes):
    outs = [torch.empty(shape) for shape in shapes]
    function = getattr(torch.linalg, name[7:]) if name.startswith("linalg_") else getattr(
        torch, name)
    for _ in range(3):  # also where the call has been learnt
        with Log() as log:
            made = function(*args, out=outs[0] if len(outs) == 1 else tuple(outs))
        assert log.calls == [(name, len(args), ["out"])]
        assert made is outs[0] or all(m is o for m, o in zip(made, outs, strict=True))


FACTORIES = {
    "zeros": lambda o: torch.zeros(3, out=o), "ones": lambda o: torch.ones(3, out=o),
    "full": lambda o: torch.full((3,), 2.0, out=o), "arange": lambda o: torch.arange(3, out=o),
    "linspace": lambda o: torch.linspace(0, 1, 3, out=o),
    "logspace": lambda o: torch.logspace(0, 1, 3, out=o), "eye": lambda o: torch.eye(3, out=o),
    "rand": lambda o: torch.rand(3, out=o), "randint": lambda o: torch.randint(3, (3,), out=o),
    "randperm": lambda o: torch.randperm(3, out=o),
    "normal": lambda o: torch.normal(0.0, 1.0, (3,), out=o),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_and_the_tape(name):
    out = torch.ones(3, requires_grad=True)
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            FACTORIES[name](out)
        assert str(caught.value) == (
            f"aten::{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad.")
    with torch.no_grad():
        assert FACTORIES[name](out) is out
    assert not out.requires_grad


@pytest.mark.parametrize("make", [torch.empty, torch.randn])
def test_factories_that_resize_first(make):
    out = torch.ones(3, requires_grad=True)
    for grad in (True, False):
        with torch.set_grad_enabled(grad), pytest.raises(RuntimeError) as caught:
            make(3, out=out)
        assert str(caught.value) == "cannot resize variables that require grad"


@pytest.mark.parametrize(("call", "message"), [
    (lambda: torch.zeros(3, out=(V,)), "zeros(): argument 'out' must be Tensor, not tuple"),
    (lambda: torch.full((3,), 1.0, dtype=torch.float64, out=torch.ones(3)),
     "dtype Double does not match dtype of out parameter (Float)"),
    (lambda: torch.eye(3, device="meta", out=torch.ones(3, 3)),
     "device type meta does not match device type of out parameter (cpu)"),
    (lambda: torch.normal(torch.zeros(3), 1.0, out=torch.ones(3, requires_grad=True)),
     "normal(): functions with out=... arguments don't support automatic differentiation, but one "
     "of the arguments requires grad."),
    (lambda: torch.add(V, V, out=(torch.empty(3),)),
     "add(): argument 'out' must be Tensor, not tuple"),
    (lambda: torch.add(V, V, out=[torch.empty(3)]),
     "add(): argument 'out' must be Tensor, not list"),
    (lambda: torch.add(V, V, out=3), "add(): argument 'out' must be Tensor, not int"),
    (lambda: torch.max(V, V, out=(torch.empty(3),)),
     "max(): argument 'out' must be Tensor, not tuple"),
    (lambda: torch.max(A, 0, out=(torch.empty(3),)), "expected tuple of 2 elements but got 1"),
    (lambda: torch.min(A, 0, out=(torch.empty(3), None)),
     "expected Tensor as element 1 in argument 3, but got NoneType"),
])
def test_what_out_may_be(call, message):
    with pytest.raises((TypeError, RuntimeError)) as caught:
        call()
    assert str(caught.value) == message


L, D, F = torch.int64, torch.float64, torch.float32
LONG = "Expected out tensor to have dtype long int, but got float instead"


@pytest.mark.parametrize(("function", "args", "dtypes", "message"), [
    (torch.max, (A, 0), (F, F), LONG),
    (torch.max, (A, 0), (D, L), "Expected out tensor to have dtype float, but got double instead"),
    (torch.sort, (A,), (F, F), LONG),
    (torch.topk, (A, 1), (F, torch.int32),
     "Expected out tensor to have dtype long int, but got int instead"),
    (torch.kthvalue, (A, 1), (F, F), "output indices must be of scalar type Long"),
    (torch.mode, (A,), (D, L), "expected scalar type 'Float' but got 'Double' for values output"),
    (torch.median, (A, 0), (F, F),
     "Expected tensor for argument #1 'indices' to have scalar type Long; but got "
     "torch.FloatTensor instead (while checking arguments for median)"),
    (torch.cummax, (A, 0), (F, F), "expected scalar_type Long but found Float"),
    (torch.frexp, (A,), (F, F), "torch.frexp() expects exponent to have int dtype but got float"),
    (torch.linalg.svd, (A,), (D, F, F),
     "Expected out tensor to have dtype float, but got double instead"),
    (torch.mm, (A, A), (D,), "Expected out tensor to have dtype float, but got double instead"),
    (torch.argmax, (A,), (F,), LONG),
    (torch.abs, (A,), (D,), "Found dtype Double but expected Float"),
    (torch.gather, (A, 0, torch.zeros(1, 3, dtype=L)), (D,),
     "Expected out tensor to have dtype float, but got double instead"),
    (torch.index_select, (A, 0, torch.tensor([0])), (D,),
     "index_select(): self and result must have the same scalar type"),
    (torch.softmax, (A, 0), (D,),
     "Expected out tensor to have dtype float, but got double instead"),
    (torch.add, (A, A), (L,), "result type Float can't be cast to the desired output type Long"),
])
def test_dtypes_of_out(function, args, dtypes, message):
    like = function(*args)
    likes = like if isinstance(like, tuple) else (like,)
    outs = tuple(torch.empty(t.shape, dtype=d) for t, d in zip(likes, dtypes, strict=True))
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            function(*args, out=outs if isinstance(like, tuple) else outs[0])
        assert str(caught.value) == message


def test_what_casts():
    for function, args in ((torch.add, (A, A)), (torch.exp, (A,)), (torch.sum, (A, 0))):
        want = function(*args)
        out = torch.empty(want.shape, dtype=D)
        assert function(*args, out=out) is out
        assert out.dtype is D and torch.allclose(out.float(), want)


def test_named_results():
    outs = torch.empty(3), torch.empty(3, dtype=L)
    made = torch.max(A, 0, out=outs)
    assert type(made).__name__ == "max_out" and made.indices is outs[1]
    assert repr(made).startswith("torch.return_types.max_out(\nvalues=tensor(")


#: Results that PyTorch writes over operands without a look; they are those of the old operand.
@pytest.mark.parametrize("call", [
    lambda x, **k: torch.std(x, 0, **k), lambda x, **k: torch.var(x, 0, **k),
    lambda x, **k: torch.logsumexp(x, 0, **k), lambda x, **k: torch.norm(x, 2, 0, **k),
    lambda x, **k: torch.nansum(x, 0, **k), lambda x, **k: torch.quantile(x, 0.5, 0, **k),
    lambda x, **k: torch.sum(x, 0, **k), lambda x, **k: torch.amax(x, 0, **k),
])
@pytest.mark.parametrize("row", [0, 1])
def test_reductions_over_their_operand(call, row):
    x = torch.arange(12.0).reshape(3, 4)
    want = call(x)
    assert torch.equal(call(x, out=x[row]), want)
    assert torch.equal(x[row], want) and x[2].tolist() == [8.0, 9.0, 10.0, 11.0]


@pytest.mark.parametrize("call", [
    lambda x: torch.max(x, 0, out=(x[0], torch.empty(4, dtype=L))),
    lambda x: torch.gather(x, 0, torch.zeros(3, 4, dtype=L), out=x),
    lambda x: torch.add(x[0, :3], 1, out=x[0, 1:]),
    lambda x: torch.addmm(x.view(12)[:9].view(3, 3), A, A, out=x.view(12)[1:10].view(3, 3)),
])
def test_overlaps_that_are_refused(call):
    with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input"):
        call(torch.arange(12.0).reshape(3, 4))


def test_lists_of_results() -> None:
    x = torch.arange(6.0)
    calls = {"split_with_sizes_copy": ([2, 4],), "split_copy": (4,), "unbind_copy": ()}
    for name, args in calls.items():
        function = getattr(torch, name)
        wanted = function(x, *args)
        outs = [torch.zeros_like(w) for w in wanted]
        assert function(x, *args, out=outs) is None
        assert [o.tolist() for o in outs] == [w.tolist() for w in wanted]
        with pytest.raises(RuntimeError, match=f"{name}_out expected an out= argument of size"):
            function(x, *args, out=outs[:1])
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float"):
            function(x, *args, out=[o.long() for o in outs])


def test_kthvalue_may_not_write_over_what_it_reads() -> None:
    x = torch.arange(10.0)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        torch.kthvalue(x, 5, out=(x, torch.tensor(0)))


def test_sums_are_made_in_the_dtype_of_out():
    x = torch.tensor([[0.6, 1.7], [0.6, 2.9]])
    for name, wanted in (("sum", [0, 3]), ("prod", [0, 2]), ("cumsum", [[0, 1], [0, 3]])):
        function = getattr(torch, name)
        out = torch.zeros(torch.tensor(wanted).shape, dtype=L)
        assert function(x, 0, out=out) is out and out.tolist() == wanted
        with pytest.raises(RuntimeError, match="to have dtype double, but got long int instead"):
            function(x, 0, dtype=D, out=out)


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_sums_of_all_elements_have_no_out(name):
    for out in (torch.zeros(()), torch.zeros((), dtype=D)):
        for named in ({}, {"dtype": D}):
            with pytest.raises(TypeError, match="received an invalid combination of arguments"):
                getattr(torch, name)(A, out=out, **named)


def test_what_else_is_refused_as_out():
    with pytest.raises(RuntimeError, match="nonzero does not support the out kwarg when as_tuple"):
        torch.nonzero(V, as_tuple=True, out=torch.zeros(3, 1, dtype=L))
    for join in (torch.cat, torch.stack, torch.hstack):
        with pytest.raises(TypeError, match="input types can't be cast to the desired output type"):
            join([V, V], out=torch.zeros_like(join([V, V]), dtype=L))
    with pytest.raises(RuntimeError, match="the operation's result requires dtype Double"):
        torch.float_power(A, 2, out=torch.zeros(3, 3))
    with pytest.raises(NotImplementedError, match='"cumprod_out_cpu" not implemented for \'Bool\''):
        torch.cumprod(V, 0, dtype=torch.bool)


def test_moduli_and_truth_values_cast():
    z = torch.tensor([3 + 4j, 1j])
    for dtype in (torch.complex64, D):
        assert torch.abs(z, out=torch.zeros(2, dtype=dtype)).real.tolist() == [5.0, 1.0]
    assert torch.all(A >= 0, 0, out=torch.zeros(3, dtype=torch.uint8)).tolist() == [1, 1, 1]


def test_sequences_keep_the_shape_of_out():
    out = torch.zeros(2, 2)
    for made in (torch.arange(4, out=out), torch.linspace(0, 3, 4, out=out)):
        assert made is out and out.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.warns(UserWarning, match="does not match the computed number of elements 4"):
        assert torch.arange(4, out=torch.zeros(3)).tolist() == [0, 1, 2, 3]


def test_names_of_results_that_were_written():
    values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
    made = torch.max(torch.tensor([[1.0, 2.0]]), 1, out=(values, places))
    assert type(made) is torch.return_types.max_out and made.indices is places
    assert torch.return_types.linalg_qr_out._fields == ("Q", "R")
    with pytest.raises(AttributeError, match="has no attribute 'maxi_out'"):
        _ = torch.return_types.maxi_out
