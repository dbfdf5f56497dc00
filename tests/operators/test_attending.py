"""Attention by tiles, against the plain formula in NumPy and finite differences."""

import numpy as np
import pytest
from finite_differences import array, check_gradients, tensor, values

import yesca as torch
from yesca.operators import attending
from yesca.operators.record import RECORDS

attend = torch.nn.functional.scaled_dot_product_attention


def plain(q, k, v, mask=None, scale=None):
    """softmax(q @ k.T * scale + mask) @ v; a row without keys gives zeros."""
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    raised = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = raised.sum(-1, keepdims=True)
    return raised / np.where(total == 0, 1, total) @ v


@pytest.fixture(params=[1 << 18, 40, 12])
def tile(request, monkeypatch):
    """Tiles of the usual size, and so small that everything is cut."""
    monkeypatch.setattr(attending, "TILE", request.param)
    monkeypatch.setattr(attending, "TILES", 1 << 20)
    names = ("attention", "attention_slopes")
    for name in names:
        if name in RECORDS:
            RECORDS[name].plans.clear()
    yield
    for name in names:
        RECORDS[name].plans.clear()


@pytest.mark.parametrize("shapes", [[(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)], [(5, 4)] * 3,
                                    [(3, 5, 4), (1, 7, 4), (1, 7, 4)]])
def test_masks(shapes, tile):
    q, k, v = (values(s, n) for n, s in enumerate(shapes))
    x, y, z = map(tensor, (q, k, v))
    allowed = values((q.shape[-2], k.shape[-2]), 5) > -0.4
    allowed[1] = False
    lower = np.tril(np.ones((q.shape[-2], k.shape[-2]), bool))
    added = values((q.shape[-2], k.shape[-2]), 6)
    for options, mask in (({}, None), ({"is_causal": True}, lower),
                          ({"attn_mask": torch.tensor(allowed.tolist())}, allowed),
                          ({"attn_mask": tensor(added)}, added)):
        np.testing.assert_allclose(array(attend(x, y, z, **options)), plain(q, k, v, mask),
                                   atol=1e-12)
    np.testing.assert_allclose(array(attend(x, y, z, scale=0.3)), plain(q, k, v, None, 0.3),
                               atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
def test_gradients(causal, tile):
    def heads_last(q, k, v):
        made = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal)
        return made.transpose(1, 2)

    check_gradients(heads_last, [(2, 5, 3, 4)] * 3, second=False)
    check_gradients(lambda q, k, v: attend(q, k, v, is_causal=causal),
                    [(2, 5, 4), (2, 6, 4), (2, 6, 3)])


def test_gradient_of_a_mask():
    check_gradients(lambda q, mask: attend(q, q, q, attn_mask=mask), [(2, 5, 4), (5, 5)])


def test_grouped_heads(tile):
    q, k, v = values((2, 6, 5, 4)), values((2, 2, 7, 4), 1), values((2, 2, 7, 4), 2)
    expected = plain(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1))
    made = attend(*map(tensor, (q, k, v)), enable_gqa=True)
    np.testing.assert_allclose(array(made), expected, atol=1e-12)
    check_gradients(lambda a, b, c: attend(a, b, c, enable_gqa=True),
                    [(1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)], second=False)


def test_half_types():
    q, k, v = (values((2, 3, 9, 8), n) for n in range(3))
    for dtype, tolerance in ((torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
        made = attend(*(tensor(a, dtype) for a in (q, k, v)))
        assert made.dtype is dtype
        np.testing.assert_allclose(array(made), plain(q, k, v), atol=tolerance)


def test_memory_grows_with_the_length_only():
    x = torch.ones(1, 1, 4096, 8)
    RECORDS["attention"].plans.clear()
    attend(x, x, x)
    (plan,) = RECORDS["attention"].plans.values()
    assert sum(plan.temporaries) < 4096 * 4096


def test_nothing_to_attend_to():
    assert attend(torch.ones(2, 0, 4), torch.ones(2, 3, 4), torch.ones(2, 3, 4)).shape == (2, 0, 4)
    made = attend(torch.ones(2, 3, 4), torch.ones(2, 0, 4), torch.ones(2, 0, 4))
    assert array(made).tolist() == np.zeros((2, 3, 4)).tolist()


def test_errors():
    x = torch.ones(1, 2, 3)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        attend(x, x, x, attn_mask=torch.ones(2, 2), is_causal=True)
    with pytest.raises(RuntimeError, match="to have the same dtype, but got query.dtype: float"):
        attend(x, x.double(), x)
    with pytest.raises(RuntimeError, match="must divide the number of heads"):
        attend(torch.ones(1, 8, 2, 3), torch.ones(1, 3, 2, 3), torch.ones(1, 3, 2, 3),
               enable_gqa=True)
