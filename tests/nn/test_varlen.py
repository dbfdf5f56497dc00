"""Attention over sequences that stand one after another, against each sequence by itself."""

import math

import pytest

import yesca as torch
from yesca.nn import functional as F
from yesca.nn.attention.varlen import AuxRequest, varlen_attn, varlen_attn_out

QUERIES, KEYS = [3, 0, 4, 1], [3, 2, 6, 0]


def starts(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)


def operands(heads=2, shared=2, queries=QUERIES, keys=KEYS, dtype=torch.float64):
    torch.manual_seed(0)
    shapes = (sum(queries), heads, 4), (sum(keys), shared, 4), (sum(keys), shared, 4)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


def plain(query, key, value, window, queries=QUERIES, keys=KEYS):
    """The same, score by score."""
    results, sums, i, j = [], [], 0, 0
    for length, count in zip(queries, keys):
        for own in range(length):
            place = own + count - length
            seen = [at for at in range(count)
                    if (window[0] < 0 or at >= place - window[0])
                    and (window[1] < 0 or at <= place + window[1])]
            k, v = key[[j + at for at in seen]], value[[j + at for at in seen]]
            scores = torch.einsum("hd,shd->hs", query[i + own], k) / 2
            results.append(torch.einsum("hs,shd->hd", scores.softmax(-1), v))
            sums.append(scores.logsumexp(-1))
        i, j = i + length, j + count
    return torch.stack(results), torch.stack(sums, 1)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (0, -1), (1, 1), (2, 0), (0, 0)])
def test_each_sequence_by_itself(window):
    given = operands()
    made, sums = varlen_attn(*given, starts(QUERIES), starts(KEYS), 4, 6, window_size=window,
                             return_aux=AuxRequest(lse=True))
    wanted, logs = plain(*given, window)
    torch.testing.assert_close(made, wanted)
    torch.testing.assert_close(sums, logs.float())
    assert sums.dtype is torch.float32 and sums[:, -1].tolist() == [-math.inf] * 2
    grads = torch.autograd.grad(made.square().sum(), given)
    for one, other in zip(grads, torch.autograd.grad(wanted.square().sum(), given)):
        torch.testing.assert_close(one, other)


def test_shared_heads_and_given_results():
    query, key, value = (t.detach() for t in operands(4, 2))
    at = starts(QUERIES), starts(KEYS), 4, 6
    made = varlen_attn(query, key, value, *at, enable_gqa=True, scale=0.5)
    wide = [t.repeat_interleave(2, 1) for t in (key, value)]
    torch.testing.assert_close(made, varlen_attn(query, *wide, *at, scale=0.5))
    out = torch.empty_like(made)
    assert varlen_attn_out(out, query, key, value, *at, enable_gqa=True, scale=0.5) is out
    assert out.equal(made)
    assert varlen_attn_out(out, query, *wide, *at, return_aux=AuxRequest(True))[1].shape == (4, 8)


def test_pages_and_used_keys():
    query, key, value = (t.detach() for t in operands(queries=[1, 1], keys=[4, 4]))
    begins = starts([1, 1])
    used = torch.tensor([3, 2])
    made = varlen_attn(query, key, value, begins, starts([4, 4]), 1, 4, seqused_k=used)
    short = [torch.cat([t[:3], t[4:6]]) for t in (key, value)]
    torch.testing.assert_close(made, varlen_attn(query, *short, begins, starts([3, 2]), 1, 3))
    table = torch.tensor([[3, 0], [1, 2]], dtype=torch.int32)
    pages = [torch.empty(4, 2, 2, 4, dtype=t.dtype) for t in (key, value)]
    for page, t in zip(pages, (key, value)):
        page[table.flatten().long()] = t.reshape(4, 2, 2, 4)
    paged = varlen_attn(query, *pages, begins, None, 1, 4, seqused_k=used, block_table=table)
    torch.testing.assert_close(paged, made)


def test_queries_of_no_sequence_are_zero():
    query, key, value = operands(queries=[3], keys=[3])
    made = varlen_attn(query, key, value, starts([2]), starts([2]), 2, 2)
    alone = F.scaled_dot_product_attention(*(t[:2].transpose(0, 1) for t in (query, key, value)))
    torch.testing.assert_close(made[:2], alone.transpose(0, 1))
    assert made[2].eq(0).all()
    none = varlen_attn(query[:0], key[:0], value[:0], starts([]).long(), starts([]).long(), 0, 0)
    assert none.shape == (0, 2, 4)


@pytest.mark.parametrize("options, error, message", [
    ({}, ValueError, "Hq=4 and Hkv=2. Try setting enable_gqa=True"),
    ({"heads": 3, "enable_gqa": True}, ValueError, "multiple of kv heads for GQA but got Hq=3"),
    ({"enable_gqa": True, "seqused_k": torch.tensor([1, 1, 1, 0])}, RuntimeError,
     "seqused_k is an inference-only parameter"),
    ({"enable_gqa": True, "max_k": 5}, ValueError, "has 6 elements, more than the 5"),
    ({"enable_gqa": True, "cu_seq_k": starts([3, 2, 6, 1])}, ValueError, "from 0 to at most 11"),
    ({"enable_gqa": True, "cu_seq_k": None}, ValueError, "cu_seq_k must be a tensor of shape"),
    ({"enable_gqa": True, "cu_seq_k": starts([3])}, ValueError, "4 sequences, but there are keys"),
])
def test_refusals(options, error, message):
    given = {"cu_seq_k": starts(KEYS), "max_k": 6, **options}
    query, key, value = operands(given.pop("heads", 4))
    with pytest.raises(error, match=message):
        varlen_attn(query, key, value, cu_seq_q=starts(QUERIES), max_q=4, **given)


def test_pages_want_the_numbers_of_keys():
    query, key, value = operands(queries=[1], keys=[1])
    with pytest.raises(ValueError, match="block_table requires seqused_k"):
        varlen_attn(query, key.unsqueeze(0), value.unsqueeze(0), starts([1]), None, 1, 1,
                    block_table=torch.zeros(1, 1, dtype=torch.int32))
