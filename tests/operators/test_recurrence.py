"""Walks of recurrent cells: against single operators, derivatives of all orders, blocks."""

import pytest

import yesca as torch
from yesca.autograd import gradcheck, gradgradcheck
from yesca.dispatch.call import OPERATORS as ops
from yesca.func import jvp, vmap
from yesca.nn.modules import _recurrence as recurrence

CELLS = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
DIRECTIONS = pytest.mark.parametrize("backward", [False, True])
ALL = pytest.mark.parametrize("mode", CELLS)


def weights(mode, size=3, bias=True, dtype=torch.float64):
    """What a layer of this size holds."""
    across = CELLS[mode] * size
    return {
        "weight_ih": torch.randn(across, 4, dtype=dtype, requires_grad=True),
        "weight_hh": torch.randn(across, size, dtype=dtype, requires_grad=True),
        "bias_ih": torch.randn(across, dtype=dtype, requires_grad=True) if bias else None,
        "bias_hh": torch.randn(across, dtype=dtype, requires_grad=True) if bias else None,
        "weight_hr": None,
    }


def states(mode, batch, size=3, dtype=torch.float64):
    count = 2 if mode == "LSTM" else 1
    return tuple(torch.randn(batch, size, dtype=dtype, requires_grad=True) for _ in range(count))


def by_steps(mode, sequence, state, held, backward):
    from_input = torch.nn.functional.linear(sequence, held["weight_ih"], held["bias_ih"])
    return recurrence.by_steps(recurrence._steps(mode, held), from_input, state, backward)


def everything(result, inputs):
    """Results and all gradients of one walk."""
    output, last = result
    loss = (output * torch.arange(output.numel()).reshape(output.shape).cos()).sum()
    loss = loss + sum((each * each).sum() for each in last)
    return [output, *last, *torch.autograd.grad(loss, inputs)]


@ALL
@DIRECTIONS
@pytest.mark.parametrize(("times", "batch", "bias"), [
    (1, 2, True), (5, 3, False), (7, 1, True), (recurrence.BLOCK + 1, 2, True), (4, 0, True)])
def test_one_operator_does_what_many_do(mode, backward, times, batch, bias):
    torch.manual_seed(1)
    held, state = weights(mode, bias=bias), states(mode, batch)
    sequence = torch.randn(times, batch, 4, dtype=torch.float64, requires_grad=True)
    inputs = [sequence, *state, *(w for w in held.values() if w is not None)]
    whole = everything(recurrence.walk(mode, sequence, state, held, backward), inputs)
    parts = everything(by_steps(mode, sequence, state, held, backward), inputs)
    for got, wanted in zip(whole, parts, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-10)


@ALL
@pytest.mark.parametrize("strided", ["input", "state", "weight", "gradient"])
def test_any_strides(mode, strided):
    torch.manual_seed(2)
    held, state = weights(mode), states(mode, 2)
    sequence = torch.randn(3, 2, 4, dtype=torch.float64)
    if strided == "input":
        sequence = torch.randn(2, 4, 3, dtype=torch.float64).permute(2, 0, 1)
    if strided == "state":
        state = tuple(torch.randn(3, 2, dtype=torch.float64).T for _ in state)
    if strided == "weight":
        held["weight_hh"] = held["weight_hh"].detach().T.contiguous().T.requires_grad_()
    inputs = [w for w in held.values() if w is not None]

    def total(result):
        output, last = result
        loss = output.sum() if strided == "gradient" else (output ** 2).sum()  # sum expands its own
        return torch.autograd.grad(loss + last[-1].sum(), inputs)

    whole = total(recurrence.walk(mode, sequence, state, held, False))
    parts = total(by_steps(mode, sequence, state, held, False))
    for got, wanted in zip(whole, parts, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-10)


def walked(mode, backward):
    """A function of all inputs that gives what carries gradients."""
    run = getattr(ops, f"{mode.lower()}_walk")

    def function(from_input, weight, bias, hidden, memory=None):
        output, cells, _ = run(from_input, hidden, memory, weight, bias, backward)
        return (output, cells) if memory is not None else output

    held, state = weights(mode, 2), states(mode, 2, 2)
    given = torch.randn(3, 2, CELLS[mode] * 2, dtype=torch.float64, requires_grad=True)
    return function, (given, held["weight_hh"], held["bias_hh"], *state)


@ALL
@DIRECTIONS
def test_derivatives(mode, backward):
    torch.manual_seed(3)
    function, inputs = walked(mode, backward)
    assert gradcheck(function, inputs, check_forward_ad=True)
    assert gradgradcheck(function, inputs)


@ALL
def test_batches_and_tangents(mode):
    torch.manual_seed(4)
    function, inputs = walked(mode, False)
    many = [torch.stack([x.detach(), x.detach() * 0.5]) for x in inputs]
    for got, wanted in zip(
        _list(vmap(function)(*many)),
        zip(*(_list(function(*(m[k] for m in many))) for k in range(2)), strict=True),
        strict=True,
    ):
        torch.testing.assert_close(got, torch.stack(list(wanted)))
    plain = [x.detach() for x in inputs]
    along = [torch.randn_like(x) for x in plain]
    _, tangents = jvp(function, tuple(plain), tuple(along))
    near = [_list(function(*(x + e * d for x, d in zip(plain, along, strict=True))))
            for e in (1e-6, -1e-6)]
    for tangent, ahead, behind in zip(_list(tangents), *near, strict=True):
        torch.testing.assert_close(tangent, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)


def _list(made):
    return list(made) if isinstance(made, tuple) else [made]


@ALL
def test_the_last_state_alone_has_gradients(mode):
    torch.manual_seed(5)
    held, state = weights(mode), states(mode, 2)
    sequence = torch.randn(4, 2, 4, dtype=torch.float64, requires_grad=True)
    inputs = [sequence, *state]
    whole = recurrence.walk(mode, sequence, state, held, False)[1][-1].exp().sum()
    parts = by_steps(mode, sequence, state, held, False)[1][-1].exp().sum()
    for got, wanted in zip(torch.autograd.grad(whole, inputs), torch.autograd.grad(parts, inputs),
                           strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@ALL
def test_lower_precisions_round_at_each_operator(mode, dtype):
    torch.manual_seed(6)
    held, state = weights(mode, dtype=dtype), states(mode, 2, dtype=dtype)
    sequence = torch.randn(3, 2, 4, dtype=dtype)
    got, wanted = (f(mode, sequence, state, held, False)[0]
                   for f in (recurrence.walk, by_steps))
    assert torch.equal(got, wanted)


def test_whole_numbers_are_refused():
    with pytest.raises(NotImplementedError, match="\"lstm\" not implemented for 'Long'"):
        ops.lstm_walk(torch.ones(2, 2, 8).long(), torch.ones(2, 2).long(),
                      torch.ones(2, 2).long(), torch.ones(8, 2).long(), None, False)


@ALL
@pytest.mark.parametrize("wrong", [torch.float64, torch.bool, torch.complex64])
def test_operands_of_another_dtype_are_refused(mode, wrong):
    given = [torch.ones(2, 2, CELLS[mode] * 3), torch.ones(2, 3),
             torch.ones(2, 3) if mode == "LSTM" else None, torch.ones(CELLS[mode] * 3, 3),
             torch.ones(CELLS[mode] * 3)]
    run = getattr(ops, f"{mode.lower()}_walk")
    run(*given, False)
    for k in (0, 3, 4):
        with pytest.raises(RuntimeError, match="expected .* to be .* of torch.float32"):
            run(*given[:k], given[k].to(wrong), *given[k + 1:], False)
        with pytest.raises(RuntimeError, match="expected .* to be .* of torch.float32"):
            run(*given[:k], given[k][..., :-1], *given[k + 1:], False)


@ALL
@DIRECTIONS
def test_slopes_of_results_in_other_orders(mode, backward):
    torch.manual_seed(8)
    function, (given, weight, bias, *state) = walked(mode, backward)
    memory = state[1] if len(state) > 1 else None
    run, slopes = (getattr(ops, f"{mode.lower()}_{part}") for part in ("walk", "slopes"))
    held = [t.detach() for t in run(given, state[0], memory, weight, bias, backward)]
    turned = [t.permute(2, 1, 0).contiguous().permute(2, 1, 0) for t in held]
    grad = torch.randn_like(held[0])
    rest = [None if t is None else t.detach() for t in (state[0], memory, weight)]
    for got, wanted in zip(slopes(grad, None, *turned, *rest, backward),
                           slopes(grad, None, *held, *rest, backward), strict=True):
        torch.testing.assert_close(got, wanted)


def test_compiled_layers_do_the_same():
    torch.manual_seed(7)
    layer = torch.nn.LSTM(4, 3, num_layers=2)
    compiled = torch.compile(layer)
    for _ in range(4):
        sequence = torch.randn(6, 2, 4, requires_grad=True)
        results = [layer(sequence)[0], compiled(sequence)[0]]
        gradients = [torch.autograd.grad(r.square().sum(), [sequence, *layer.parameters()])
                     for r in results]
        torch.testing.assert_close(*results)
        for got, wanted in zip(*gradients, strict=True):
            torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("backward", [False, True])
def test_nan_passes_relu(backward):
    """As in `torch.relu`, whose derivative lets the gradient of NaN pass."""
    held, state = weights("RNN_RELU"), states("RNN_RELU", 2)
    sequence = torch.full((2, 2, 4), float("nan"), dtype=torch.float64)
    for made, _ in (recurrence.walk("RNN_RELU", sequence, state, held, backward),
                    by_steps("RNN_RELU", sequence, state, held, backward)):
        assert made.isnan().all()
