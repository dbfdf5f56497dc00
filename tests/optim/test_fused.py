"""SGD, Adam and AdamW: which parameters go into which launch, and what can be differentiated."""

import pytest

import yesca as torch
from yesca.optim import SGD, Adam, AdamW, Muon
from yesca.optim._functional import adadelta, sgd

ALL = [
    lambda params, **options: SGD(params, lr=0.1, momentum=0.9, **options),
    lambda params, **options: Adam(params, lr=0.1, amsgrad=True, **options),
    lambda params, **options: AdamW(params, lr=0.1, **options),
]


def train(make, params, present, steps=6):
    """Steps with the gradient `param`, for those that `present(step, index)` says have one."""
    optimizer = make(params)
    for step in range(steps):
        for index, param in enumerate(params):
            param.grad = param.detach().clone() if present(step, index) else None
        optimizer.step()
    return optimizer


def leaves(*dtypes):
    return [torch.tensor([1.0, -2.0]).to(dtype).requires_grad_() for dtype in dtypes]


@pytest.mark.parametrize("make", ALL)
def test_dtypes_in_one_group_are_updated_apart(make):
    dtypes = (torch.float32, torch.float64, torch.float32)
    together = leaves(*dtypes)
    train(make, together, lambda step, index: True)
    for param, alone in zip(together, leaves(*dtypes)):
        train(make, [alone], lambda step, index: True)
        assert param.tolist() == alone.tolist()


@pytest.mark.parametrize("make", ALL)
def test_parameters_without_gradient_wait(make):
    """Each has a step count, and a first step, of its own."""
    together = leaves(torch.float32, torch.float32, torch.float32)
    turns = [{0, 1, 2, 3, 4, 5}, {1, 2, 5}, set()]
    optimizer = train(make, together, lambda step, index: step in turns[index])
    for index, alone in enumerate(leaves(torch.float32, torch.float32, torch.float32)):
        train(make, [alone], lambda step, _, index=index: step in turns[index])
        assert together[index].tolist() == alone.tolist()
    assert together[2] not in optimizer.state


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("option", ["foreach", "fused", None])
def test_words_for_implementations_change_nothing(make, option):
    options = {} if option is None else {option: True}
    param, plain = leaves(torch.float32, torch.float32)
    train(lambda params: make(params, **options), [param], lambda *_: True)
    train(make, [plain], lambda *_: True)
    assert param.tolist() == pytest.approx(plain.tolist(), rel=1e-6)


@pytest.mark.parametrize("make", ALL)
def test_complex_parameters_are_pairs_of_numbers(make):
    pair = torch.tensor([1.0, -2.0], requires_grad=True)
    single = torch.tensor([1.0 - 2.0j], requires_grad=True)
    train(make, [pair], lambda *_: True)
    train(make, [single], lambda *_: True)
    assert torch.view_as_real(single.detach()).reshape(-1).tolist() == pytest.approx(pair.tolist())


def test_fused_refuses_complex_parameters():
    param = torch.tensor([1.0 - 2.0j], requires_grad=True)
    param.grad = torch.ones_like(param)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating"):
        Adam([param], fused=True).step()


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_gradient_of_the_rate(kind):
    """Through one step: the updated parameter is minus the update times the rate."""
    rate = torch.tensor(0.5, requires_grad=True)
    leaf = torch.tensor([2.0], requires_grad=True)
    param = leaf.clone()
    param.grad = torch.tensor([4.0])
    kind([param], lr=rate, differentiable=True).step()
    param.sum().backward()
    expected = -4.0 if kind is SGD else -1.0
    assert rate.grad.item() == pytest.approx(expected, rel=1e-4)
    assert leaf.grad.item() == pytest.approx(1.0)


def test_gradient_through_the_gradient():
    leaf = torch.tensor([2.0], requires_grad=True)
    param = torch.tensor([1.0], requires_grad=True).clone()
    param.grad = leaf.clone()
    SGD([param], lr=0.5, differentiable=True).step()
    param.sum().backward()
    assert leaf.grad.item() == -0.5


def test_step_keeps_the_tensors_it_updates():
    param = torch.ones(2, requires_grad=True)
    address = param.data_ptr()
    optimizer = Adam([param])
    param.grad = torch.ones(2)
    optimizer.step()
    step = optimizer.state[param]["step"]
    optimizer.step()
    assert param.data_ptr() == address
    assert optimizer.state[param]["step"] is step
    assert step.item() == 2.0
    assert param.requires_grad
    assert param.grad_fn is None


def test_muon_makes_the_update_orthogonal():
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        Muon([torch.ones(3, requires_grad=True)])
    param = torch.zeros(2, 3, requires_grad=True)
    param.grad = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    Muon([param], lr=1.0, weight_decay=0.0).step()
    update = -param.detach()
    gram = (update @ update.T).flatten().tolist()
    assert gram == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=0.5)


EVERY = ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam",
         "Rprop", "ASGD"]


@pytest.mark.parametrize("name", EVERY)
def test_a_parameter_whose_elements_share_a_place_is_refused(name):
    param = torch.ones(1, 2).expand(3, 2).requires_grad_()
    param.grad = torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        getattr(torch.optim, name)([param], lr=0.1).step()
    assert param.tolist() == [[1.0, 1.0]] * 3


@pytest.mark.parametrize("name", EVERY)
def test_a_conjugated_gradient_counts_as_its_values(name):
    found = []
    for grad in (torch.tensor([1 - 2j]).conj(), torch.tensor([1 + 2j])):
        param = torch.tensor([3 + 1j], requires_grad=True)
        param.grad = grad
        getattr(torch.optim, name)([param], lr=0.1).step()
        found.append(param.tolist())
    assert found[0] == found[1]


def test_rprop_waits_where_the_gradient_is_not_a_number():
    param = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Rprop([param])
    for _ in range(2):
        param.grad = torch.tensor([float("nan"), 1.0])
        optimizer.step()
    assert param[0].item() == 1.0 and param[1].item() < 0.99


def test_functional_forms_heed_a_grad_scaler():
    """As in PyTorch, gradients are freed of their factor in place, or nothing changes."""
    options = dict(weight_decay=0, momentum=0.5, lr=0.5, dampening=0, nesterov=False,
                   maximize=False, fused=True, grad_scale=torch.tensor(4.0))
    params, grads, buffers = [torch.ones(2)], [torch.full((2,), 8.0)], [None]
    sgd(params, grads, buffers, found_inf=torch.tensor(1.0), **options)
    assert params[0].tolist() == [1, 1] and grads[0].tolist() == [8, 8] and buffers == [None]
    sgd(params, grads, buffers, found_inf=torch.tensor(0.0), **options)
    assert params[0].tolist() == [0, 0] and grads[0].tolist() == buffers[0].tolist() == [2, 2]


def test_functional_forms_refuse_what_pytorch_refuses():
    leaf, state = torch.ones(2, requires_grad=True), [torch.zeros(2)]
    options = dict(lr=0.5, rho=0.5, eps=1e-6, weight_decay=0, maximize=False)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        adadelta([leaf], state, state, state, [torch.tensor(0.0)], **options)
    with pytest.raises(RuntimeError, match="must contain a list of singleton tensors"):
        adadelta(state, state, state, state, [1], **options)
    with pytest.raises(RuntimeError, match="lists of one length each, but their lengths are 1, 1"):
        adadelta(state, state, [], state, [torch.tensor(0.0)], **options)
    adadelta([], [], [], [], [], **options)


def test_functional_forms_sort_what_they_are_given():
    """Parameters of several dtypes, one of them with a buffer already."""
    dtypes = (torch.float32, torch.float64, torch.complex64)
    params, grads = ([torch.ones(2, dtype=d) for d in dtypes] for _ in range(2))
    buffers = [None, torch.ones(2, dtype=torch.float64), None]
    sgd(params, grads, buffers, weight_decay=0, momentum=0.5, lr=torch.tensor(0.5), dampening=0,
        nesterov=False, maximize=False)
    assert [b.tolist() for b in buffers] == [[1, 1], [1.5, 1.5], [1, 1]]
    assert [p.tolist() for p in params] == [[0.5, 0.5], [0.25, 0.25], [0.5, 0.5]]
