"""flex_attention against attention written out; block masks; refusals."""

import math

import pytest

import yesca as torch
from yesca.nn.attention.flex_attention import (
    AuxRequest, BlockMask, and_masks, create_block_mask, create_mask, flex_attention, noop_mask,
    or_masks,
)


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def near(b, h, q_idx, kv_idx):
    return (q_idx - kv_idx).abs() <= 2


def numbers(*shape):
    return (torch.arange(float(math.prod(shape)), dtype=torch.float64) * 1.37).sin().reshape(shape)


BIAS, DOCUMENTS = numbers(3, 10, 10), torch.tensor([0] * 4 + [1] * 6)
SCORES = {
    "none": (None, lambda s: s),
    "bias": (lambda s, b, h, q, kv: s + BIAS[h, q, kv], lambda s: s + BIAS),
    "rows": (lambda s, b, h, q, kv: s + BIAS[h][q][kv], lambda s: s + BIAS),
    "tanh": (lambda s, b, h, q, kv: torch.tanh(s / 2) * 2, lambda s: torch.tanh(s / 2) * 2),
    "slope": (lambda s, b, h, q, kv: s + (kv - q) * (h + 1) * 0.1,
              lambda s: s + (torch.arange(10) - torch.arange(10)[:, None])
              * torch.arange(1, 4)[:, None, None] * 0.1),
}
MASKS = {
    "causal": causal, "near": near, "nothing": lambda b, h, q, kv: q < 0,
    "documents": lambda b, h, q, kv: DOCUMENTS[q] == DOCUMENTS[kv],
    "both": and_masks(causal, near), "either": or_masks(causal, near),
    "heads": lambda b, h, q, kv: (q >= kv) | (b + h > 1),
}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", MASKS)
def test_attention(score, mask):
    mod, written = SCORES[score]
    query, key, value = (numbers(2, 3, 10, 4).add(k).requires_grad_() for k in range(3))
    blocks = create_block_mask(MASKS[mask], 2, 3, 10, 10, BLOCK_SIZE=4)
    made, aux = flex_attention(query, key, value, mod, blocks,
                               return_aux=AuxRequest(lse=True, max_scores=True))
    allowed = create_mask(MASKS[mask], 2, 3, 10, 10)
    scores = written(query @ key.mT / 2).masked_fill(~allowed, -math.inf)
    expected = torch.softmax(scores, -1).nan_to_num() @ value
    assert torch.allclose(made, expected) and torch.equal(aux.max_scores, scores.amax(-1))
    assert torch.allclose(aux.lse, scores.logsumexp(-1))
    alone = flex_attention(query, key, value, mod, blocks)
    assert torch.allclose(alone, expected)
    got = torch.autograd.grad(alone.cos().sum(), (query, key, value))
    if mask != "nothing":
        wanted = torch.autograd.grad(expected.cos().sum(), (query, key, value))
        assert all(torch.allclose(a, b) for a, b in zip(got, wanted, strict=True))
    else:
        assert all(g.eq(0).all() for g in got)


def test_groups_of_heads():
    query, key, value = numbers(2, 6, 5, 4), numbers(2, 2, 7, 4), numbers(2, 2, 7, 3)
    made = flex_attention(query, key, value, lambda s, b, h, q, kv: s * h, enable_gqa=True)
    wide = flex_attention(query, key.repeat_interleave(3, 1), value.repeat_interleave(3, 1),
                          lambda s, b, h, q, kv: s * h)
    assert made.shape == (2, 6, 5, 3) and torch.equal(made, wide)


def test_one_key_for_all_batches():
    blocks = create_block_mask(causal, 2, None, 8, 8)
    query, key = numbers(2, 2, 8, 4), numbers(1, 2, 8, 4)
    made = flex_attention(query, key, key, block_mask=blocks)
    one = create_block_mask(causal, 1, 1, 8, 8)
    assert torch.allclose(made[1:], flex_attention(query[1:], key, key, block_mask=one))


def test_the_former_way_to_ask():
    x = numbers(1, 2, 8, 4)
    with pytest.warns(FutureWarning, match="return_lse is deprecated"):
        made, lse = flex_attention(x, x, x, return_lse=True)
    assert lse.shape == (1, 2, 8) and torch.equal(made, flex_attention(
        x, x, x, return_aux=AuxRequest())[0])
    with pytest.raises(ValueError, match="Cannot specify both return_lse and return_aux"):
        flex_attention(x, x, x, return_lse=True, return_aux=AuxRequest())


def test_block_masks():
    mask = create_block_mask(causal, None, 2, 24, 24, BLOCK_SIZE=8)
    assert mask.shape == (1, 2, 24, 24) and mask.numel() == 1152
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 1, 1]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 1, 2]
    assert mask.to_dense()[0, 1].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.q_num_blocks[0, 0].tolist() == [1, 1, 1]
    assert mask.full_q_num_blocks[0, 0].tolist() == [2, 1, 0]
    assert mask.kv_indices.dtype is torch.int32
    joint = create_block_mask(causal, None, None, 24, 24, BLOCK_SIZE=8, separate_full_blocks=False)
    assert joint.kv_num_blocks[0, 0].tolist() == [1, 2, 3] and joint.full_kv_indices is None
    assert str(create_block_mask(causal, None, None, 256, 256)) == (
        "BlockMask(shape=(1, 1, 256, 256), sparsity=25.00%, \n(0, 0)\n██  \n████\n)")
    assert "mask_mod=causal" in repr(mask) and len(mask.as_tuple()) == 17
    assert "limit=N" in mask.to_string(limit=1)


def test_parts_of_block_masks():
    mask = create_block_mask(causal, 2, 2, 16, 16, BLOCK_SIZE=4)
    assert mask[1, 0].kv_num_blocks.shape == (1, 1, 4) and mask[-1].shape == (1, 2, 16, 16)
    assert mask[:, :, torch.tensor([1])].kv_indices.shape == (2, 2, 1, 4)
    smaller = mask._adjust(9, 7)
    assert smaller.to_dense()[0, 0].tolist() == [[1, 0], [1, 1], [1, 1]]
    assert mask.to("cpu").kv_indices is mask.kv_indices
    x = numbers(2, 2, 16, 4)
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex_attention(x, x, x, block_mask=mask[:])
    made = BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, BLOCK_SIZE=4)
    assert made.mask_mod is noop_mask and made.shape == (2, 2, 16, 16)


def test_masks_of_scores():
    made = create_mask(lambda s, b, h, q, kv: torch.where(q >= kv, s, -math.inf), 1, None, 3, 3)
    assert torch.equal(made, create_mask(causal, None, 1, 3, 3))


@pytest.mark.parametrize(("shapes", "options", "error", "text"), [
    (((1, 2, 3, 4), (1, 1, 3, 4)), {}, ValueError, "Try setting enable_gqa=True"),
    (((1, 3, 3, 4), (1, 2, 3, 4)), {"enable_gqa": True}, ValueError, "multiple of kv heads"),
    (((2, 3, 4), (2, 3, 4)), {}, NotImplementedError, "must be 4D tensors"),
    (((1, 2, 3, 4), (1, 2, 3, 5)), {}, ValueError, "same embedding dimension but got E=4 and E=5"),
    (((2, 2, 3, 4), (1, 2, 3, 4)), {}, ValueError, "block_mask=None, Bq=2, and Bkv=1"),
    (((1, 2, 9, 4), (1, 2, 9, 4)), {"mask": (1, 8)}, ValueError, "for a smaller length than"),
    (((1, 2, 7, 4), (1, 2, 7, 4)), {"mask": (1, 8)}, ValueError, "for a larger length than"),
    (((2, 2, 8, 4), (1, 2, 8, 4)), {"mask": (3, 8)}, ValueError, "Bkv=1, B_block_mask=3"),
])
def test_refusals(shapes, options, error, text):
    if "mask" in options:
        batch, length = options.pop("mask")
        options["block_mask"] = create_block_mask(causal, batch, None, length, length)
    query, key = map(torch.ones, shapes)
    with pytest.raises(error, match=text):
        flex_attention(query, key, key, **options)


def test_what_is_no_mask():
    with pytest.raises(AssertionError, match="requires a mask_mod function"):
        create_block_mask(lambda s, b, h, q, kv: s, 1, 1, 4, 4)
    with pytest.raises(AssertionError, match="Expected 4 or 5 positional args, got 2"):
        create_mask(lambda q, kv: q, 1, 1, 4, 4)
    with pytest.raises(RuntimeError, match="should be callable mask_mods"):
        or_masks(3)
