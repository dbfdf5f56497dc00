"""The builtin path runs plans of watched functions; the second call must equal the first."""

import pickle

import pytest

import yesca
from yesca.dispatch import fast


def twice(function):
    """Two results: of the call that is watched, and of the one that runs its plan."""
    return function(), function()


def same(a, b):
    if isinstance(a, tuple):
        return type(a) is type(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if not isinstance(a, yesca.Tensor):
        return a == b
    return a.dtype is b.dtype and a.stride() == b.stride() and yesca.equal(a, b) \
        and a.requires_grad == b.requires_grad and type(a.grad_fn) is type(b.grad_fn)


x = yesca.arange(12.0).reshape(3, 4)
CALLS = {
    "split": lambda: x.split(2), "split of one": lambda: x.split(9), "chunk": lambda: x.chunk(2, 1),
    "unbind": lambda: x.unbind(0), "max": lambda: x.max(), "max over": lambda: x.max(1),
    "many views": lambda: yesca.ones(2, 500).unbind(1),
    "max of two": lambda: x.max(x.flip(0)), "sort": lambda: x.sort(descending=True),
    "argsort": lambda: x.argsort(), "std": lambda: x.std(0), "topk": lambda: x.topk(2),
    "zeros": lambda: yesca.zeros(2, 3), "ones of a list": lambda: yesca.ones([2, 3]),
    "full": lambda: yesca.full((2,), 7), "full of floats": lambda: yesca.full((2,), 7.0),
    "arange": lambda: yesca.arange(2, 9, 3), "arange of floats": lambda: yesca.arange(0, 1, 0.25),
    "linspace": lambda: yesca.linspace(0, 1, 5), "eye": lambda: yesca.eye(2, 3),
    "zeros like": lambda: yesca.zeros_like(x, dtype=yesca.int64),
    "new zeros": lambda: x.new_zeros(2, 2), "new full": lambda: x.new_full((2,), 3),
    "cat": lambda: yesca.cat([x, x], 1), "stack": lambda: yesca.stack((x, x)),
    "triangle": lambda: x.tril(), "reversed": lambda: 2 / (x + 1), "power": lambda: x.pow(2),
    "remainder": lambda: x % 5, "quotient": lambda: x // 5, "mask": lambda: x[x > 5],
    "pair": lambda: (x.item if x.numel() == 1 else x.sum().item)(),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_equals_the_first(name):
    first, second = twice(CALLS[name])
    assert same(first, second)
    third = CALLS[name]()
    assert same(first, third)


@pytest.mark.parametrize("wants", [False, True])
def test_gradients(wants):
    for function in (lambda v: v.std(0).sum(), lambda v: v.max(1).values.sum(), lambda v: v.max(),
                     lambda v: sum(v.expand(100, 3, 4).reshape(-1, 4).unbind()[7:300:9]).sum(),
                     lambda v: v.split(2)[0].sum(), lambda v: yesca.cat([v, v]).sum(),
                     lambda v: (3 / v).sum(), lambda v: v.tril().sum(),
                     lambda v: v.sort(1).values[:, 0].sum()):
        found = []
        for _ in range(3):
            v = (x + 1).requires_grad_(wants)
            made = function(v)
            assert made.requires_grad is wants
            if wants:
                made.backward()
                found.append(v.grad)
        assert all(yesca.equal(found[0], g) for g in found)


def test_the_default_dtype_is_part_of_the_key():
    whole = yesca.arange(3)
    calls = (lambda: whole / 2, lambda: yesca.exp(whole), lambda: yesca.zeros(2),
             lambda: whole.sqrt(), lambda: yesca.ones((2,)))
    for call in calls:
        twice(call)
    yesca.set_default_dtype(yesca.float64)
    try:
        assert [call().dtype for call in calls for _ in range(2)] == [yesca.float64] * 10
    finally:
        yesca.set_default_dtype(yesca.float32)
    assert [call().dtype for call in calls] == [yesca.float32] * 5


def test_the_default_device_is_asked_for():
    twice(lambda: yesca.zeros(2))
    with yesca.device("meta"):
        assert yesca.zeros(2).is_meta
    assert not yesca.zeros(2).is_meta


def test_tensors_of_one_kind_in_another_order():
    """`other.sub(self)` may not become the plan of `self.sub(other)`."""
    a, b = yesca.tensor([1.0]), yesca.tensor([5.0])
    for _ in range(3):
        assert yesca.rsub(a, b).item() == 4.0
        assert a.where(a > 0, b).item() == 1.0


def test_what_depends_on_values_is_not_learnt():
    for size in (2, 3, 2):
        assert x.view(-1)[:yesca.tensor(size)].tolist() == list(map(float, range(size)))
    for count in ([1, 2], [2, 1], [1, 2]):
        made = yesca.repeat_interleave(yesca.tensor([0, 1]), yesca.tensor(count))
        assert made.tolist() == [0] * count[0] + [1] * count[1]
    for value in (True, False, True):
        assert yesca.equal(yesca.tensor([value]), yesca.tensor([True])) is value


def test_what_tensors_of_one_spec_differ_in():
    """Offsets, addresses and versions are in no key."""
    memory = yesca.arange(12.0)
    parts = [memory[0:4], memory[4:8], memory[8:12]]
    for part in parts:
        assert part.as_strided((2,), (2,)).tolist() == part[::2].tolist()
        assert yesca.as_strided(part, (2,), (2,), 1).tolist() == [1.0, 3.0]
        assert part.as_strided_scatter(yesca.zeros(2), (2,), (2,)).tolist()[1::2] \
            == part[1::2].tolist()


def test_one_tensor_given_twice():
    """Where both operands are one object, nothing tells in which order a plan took them."""
    a, b = yesca.tensor([4.0]), yesca.tensor([6.0])
    for _ in range(3):
        assert a.__rmod__(a).item() == 0.0
        assert a.__rmod__(b).item() == 2.0


def test_a_list_is_another_index_than_a_tuple():
    for _ in range(3):
        assert x[0, 1].item() == 1.0
        assert yesca.equal(x[[0, 1]], x[:2])
        assert yesca.equal(x[[0, 1],], x[:2])


def test_texts_made_at_run_time_do_not_fill_the_table():
    def call():
        return yesca.div(x, 2, rounding_mode="".join(["flo", "or"]))

    wanted = call()
    before = fast.FAST.entries if fast.FAST else 0
    for _ in range(20):
        assert yesca.equal(call(), wanted)
    if fast.FAST:
        assert fast.FAST.entries <= before + 2  # of `equal`


@pytest.mark.parametrize("name", ["zeros", "split", "max", "arange", "full"])
def test_pickled_functions_are_the_public_ones(name):
    """The operators of the same name ask no class or mode."""
    function = getattr(yesca, name)
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("name", ["split", "max", "new_zeros"])
def test_pickled_methods_are_methods(name):
    method = getattr(yesca.Tensor, name)
    assert pickle.loads(pickle.dumps(method)) == method


def test_numbers_in_keys_do_not_fill_the_table():
    before = fast.FAST.entries if fast.FAST else 0
    for n in range(3 * fast.FIXED_LIMIT):
        assert yesca.full((2,), n).tolist() == [n, n]
    if fast.FAST:
        assert fast.FAST.entries <= before + fast.FIXED_LIMIT + 64


# ---- out= ------------------------------------------------------------------------------------

def test_out_is_written_once():
    a, b, out = x, x + 1, yesca.empty(3, 4)
    for _ in range(3):
        version = out._version
        assert yesca.add(a, b, out=out) is out
        assert out._version == version + 1
        assert yesca.equal(out, a + b)


@pytest.mark.parametrize("dtype", [yesca.float64, yesca.float16, yesca.complex64])
def test_out_of_another_dtype(dtype):
    out = yesca.empty(3, 4, dtype=dtype)
    for _ in range(3):
        yesca.mul(x, 0.1, out=out)
        assert yesca.equal(out, (x * 0.1).to(dtype))
    out = yesca.empty(3, dtype=dtype)
    for _ in range(3):
        yesca.sum(x * 0.1, 1, out=out)
        assert yesca.equal(out, (x * 0.1).sum(1, dtype=dtype))  # added up in that dtype


def test_out_that_shares_memory():
    for _ in range(3):
        memory = yesca.arange(16.0)
        square = memory.view(4, 4)
        wanted = square @ square.t()
        assert yesca.equal(yesca.matmul(square, square.t(), out=square), wanted)
        with pytest.raises(RuntimeError, match="some elements of the input tensor"):
            yesca.add(memory[:-1], 1, out=memory[1:])
        assert yesca.equal(yesca.add(memory, 1, out=memory), memory)


def test_out_of_other_strides_and_sizes():
    for _ in range(3):
        out = yesca.empty(4, 3).t()
        assert yesca.add(x, 1, out=out).stride() == (1, 3)
        assert yesca.equal(out, x + 1)
        out = yesca.empty(0)
        assert yesca.equal(yesca.add(x, 1, out=out), x + 1)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            yesca.add(x, 1, out=yesca.empty(5))
        with pytest.raises(RuntimeError, match="result type Float can't be cast"):
            yesca.add(x, 1, out=yesca.empty(3, 4, dtype=yesca.int64))


def test_out_of_factories_is_resized_each_time():
    """A plan for the resized tensor is none for the one that was given."""
    for _ in range(3):
        assert yesca.ones(2, 2, out=yesca.zeros(0)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_out_and_gradients():
    leaf = yesca.ones(3, 4, requires_grad=True)
    out = yesca.empty(3, 4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            yesca.add(leaf, 1, out=out)
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            yesca.add(out, 1, out=leaf)
        with yesca.no_grad():
            assert not yesca.add(leaf, 1, out=out).requires_grad


class Asked(yesca.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, sorted(kwargs or {})


def test_out_of_a_class_that_takes_calls_over():
    out, asked = yesca.empty(3, 4), x.as_subclass(Asked)
    for _ in range(3):
        assert yesca.add(x, x, out=out) is out
        assert yesca.add(x, x, out=asked) == ("add", ["out"])
        assert yesca.add(asked, x, alpha=2, out=out) == ("add", ["alpha", "out"])


def test_out_after_it_was_saved():
    """A write through `out=` is one that backward notices."""
    w = yesca.ones(3, 4, requires_grad=True)
    for _ in range(2):
        kept = x.clone()
        made = (w * kept).sum()
        yesca.add(x, 1, out=kept)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            made.backward()


# ---- one value ---------------------------------------------------------------------------------

def test_one_value_as_a_number():
    for value, dtype in ((1.5, yesca.float32), (1.5, yesca.float64), (-3, yesca.int64),
                         (True, yesca.bool), (7, yesca.uint8), (1.5, yesca.float16),
                         (1 + 2j, yesca.complex64)):
        one = yesca.tensor([[0, value]], dtype=dtype)[0, 1]
        assert one.item() == value and type(one.item()) is type(value)
        assert bool(one) is True
        if not isinstance(value, complex):
            assert float(one) == float(value)
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted"):
        yesca.zeros(2).item()
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value"):
        bool(yesca.zeros(2))
    with pytest.raises(RuntimeError, match="meta"):
        yesca.zeros((), device="meta").item()
    gone = yesca.ones(1)
    gone.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError):
        gone.item()


def test_a_training_step_is_learnt_once():
    """Forward and backward, whose calls name operands by text, find all their plans again."""
    model = yesca.nn.Sequential(yesca.nn.Linear(4, 8), yesca.nn.GELU(), yesca.nn.LayerNorm(8),
                                yesca.nn.Dropout(0.1), yesca.nn.Linear(8, 4))
    optimizer = yesca.optim.Adam(model.parameters())
    inputs, targets = yesca.ones(3, 4), yesca.tensor([0, 1, 2])

    def step():
        optimizer.zero_grad()
        made = model(inputs)
        loss = yesca.nn.functional.cross_entropy(made.relu() * 2 + made.sigmoid(), targets)
        (loss + made.std(0).sum()).backward()
        optimizer.step()

    for _ in range(4):
        step()
    before = fast.FAST.watched if fast.FAST else 0
    step()
    assert (fast.FAST.watched if fast.FAST else 0) == before


@pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")
def test_equal_texts_are_one_in_keys():
    """A text that two places of a program spell is not one object; one made at run time neither."""
    a, b = yesca.ones(2, 3), yesca.ones(3, 2)
    texts = ["".join(["mn,", "np->mp"]) for _ in range(4)]
    assert len({id(text) for text in texts}) == 4
    wanted = yesca.einsum(texts[0], a, b)
    assert same(wanted, a @ b)
    before = fast.FAST.watched
    for text in texts[1:]:
        assert same(yesca.einsum(text, a, b), wanted)
    assert fast.FAST.watched == before
    for n in range(20):
        letters = [chr(97 + n + k) for k in range(3)]
        text = "{0}{1},{1}{2}->{2}{0}".format(*letters)
        assert same(yesca.einsum(text, a, b).contiguous(), (a @ b).t().contiguous())


F = yesca.nn.functional
TAPED = {
    "a number to choose": lambda v: yesca.where(v > 4, v, 0.5),
    "two numbers": lambda v: yesca.where(v > 4, v * 2, -3) + yesca.where(v > 2, 1.5, v),
    "layer norm": lambda v: F.layer_norm(v, (4,), eps=1e-3) * v,
    "convolution": lambda v: F.conv2d(v.reshape(1, 1, 3, 4), v[:2, :2].reshape(1, 1, 2, 2)),
    "pool": lambda v: F.max_pool2d(v.reshape(1, 1, 3, 4), 2),
    "cross entropy": lambda v: F.cross_entropy(v, yesca.tensor([0, 3, 1]), label_smoothing=0.1),
    "huber": lambda v: F.huber_loss(v, v.detach() * 0.9, delta=0.4),
    "interpolation": lambda v: F.interpolate(v.reshape(1, 3, 4), scale_factor=2.0),
}


@pytest.mark.parametrize("name", TAPED)
def test_numbers_of_a_key_are_kept_by_the_tape(name):
    found = []
    for _ in range(4):
        v = yesca.arange(12.0).reshape(3, 4).div(2).requires_grad_()
        made = TAPED[name](v)
        again, = yesca.autograd.grad(made.sum(), v, create_graph=True)
        again.square().sum().backward() if again.requires_grad else None
        found.append((made.detach(), again.detach(), v.grad))
    assert all(same(a, b) for one in found[1:] for a, b in zip(found[0], one, strict=True)
               if a is not None)


@pytest.mark.skipif(fast.FAST is None, reason="needs the builtin path")
def test_functions_without_methods_are_learnt():
    target = yesca.tensor([0, 3, 1])
    calls = (lambda v: yesca.where(v > 2, v, 0.0), lambda v: F.cross_entropy(v, target),
             lambda v: F.mse_loss(v, v.detach()), lambda v: F.conv2d(v[None, None], v[None, None]))
    for wants in (False, True):
        v = yesca.arange(12.0).reshape(3, 4).requires_grad_(wants)
        for call in calls:
            call(v), call(v)
            before = fast.FAST.watched
            call(v)
            assert fast.FAST.watched == before


def test_what_warns_goes_on_to_warn():
    image, grid = yesca.ones(1, 1, 2, 2), yesca.zeros(1, 2, 2, 2)
    for _ in range(3):
        with pytest.warns(UserWarning, match="Default grid_sample"):
            F.grid_sample(image, grid)
