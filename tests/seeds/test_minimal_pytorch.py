"""What the lesson on minimal PyTorch says between its programs, sentence by sentence."""

import math
from collections import Counter

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F

# --- tensors and dtypes ---------------------------------------------------------------------------


def test_one_dtype_one_rectangle():
    assert torch.tensor([1, 2.5, True]).dtype == torch.float32
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        torch.tensor([[1, 2], [3]])


def test_last_dimension_is_minus_one():
    x = torch.arange(24).view(2, 3, 4)
    assert x.sum(dim=-1).equal(x.sum(dim=2))
    assert x.sum(dim=-1).shape == (2, 3)


def test_a_batch_of_tokens_and_its_logits():
    ids = torch.zeros(64, 200, dtype=torch.int64)
    assert ids.dtype == torch.int64
    assert nn.Embedding(20, 8)(ids).shape == (64, 200, 8)


def test_default_float_is_float32_and_bfloat16_takes_half():
    weight = nn.Linear(3, 3).weight
    assert weight.dtype == torch.float32
    assert weight.to(torch.bfloat16).element_size() * 2 == weight.element_size()


def test_int32_targets_are_refused_and_int64_are_taken():
    logits = torch.zeros(2, 4)
    with pytest.raises(RuntimeError, match=r"Long.* (but )?(got|found) Int"):
        F.cross_entropy(logits, torch.tensor([0, 1], dtype=torch.int32))
    assert F.cross_entropy(logits, torch.tensor([0, 1])).item() == pytest.approx(math.log(4))


def test_bfloat16_keeps_the_range_of_float32():
    tiny = torch.tensor([1e-30])
    assert tiny.to(torch.bfloat16).item() > 0
    assert tiny.to(torch.float16).item() == 0
    assert torch.finfo(torch.bfloat16).bits == 16


# --- broadcasting ---------------------------------------------------------------------------------


def test_broadcasting_copies_nothing():
    row = torch.tensor([10.0, 20.0, 30.0])
    stretched = row.expand(2, 3)
    assert stretched.stride() == (0, 1)
    assert stretched.data_ptr() == row.data_ptr()


def test_padding_mask_meets_attention_scores():
    mask = torch.tensor([[True, True, False], [True, False, False]])  # (B=2, T=3)
    wide = mask[:, None, None, :]
    assert wide.shape == (2, 1, 1, 3)
    scores = torch.zeros(2, 4, 3, 3).masked_fill(~wide, -math.inf)  # (B, H, T, T)
    weights = scores.softmax(dim=-1)
    assert weights[0, 0, 0].tolist() == [0.5, 0.5, 0.0]
    assert weights[1, 3, 2].tolist() == [1.0, 0.0, 0.0]


def test_none_adds_a_dimension_for_a_table_of_differences():
    elo = torch.tensor([1500.0, 1600.0])
    opponents = torch.tensor([1400.0, 1500.0, 1700.0])
    table = elo[:, None] - opponents
    assert table.tolist() == [[100.0, 0.0, -200.0], [200.0, 100.0, -100.0]]


def test_sizes_that_neither_match_nor_are_one_fail():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match .*b \(4\)"):
        torch.zeros(2, 3) + torch.zeros(4)


# --- indexing and shapes --------------------------------------------------------------------------


def test_gather_takes_one_column_of_each_row():
    probabilities = torch.tensor([[0.1, 0.9], [0.3, 0.7]])
    target = torch.tensor([1, 0])
    column = target.unsqueeze(-1)
    assert column.shape == (2, 1)
    assert probabilities.gather(-1, column).shape == (2, 1)
    taken = probabilities.gather(-1, column).squeeze(-1)
    assert taken.equal(torch.tensor([0.9, 0.3]))


def test_view_and_transpose_move_nothing_and_contiguous_does():
    x = torch.arange(24).view(2, 3, 4)
    heads = x.view(2, 3, 2, 2)
    turned = heads.transpose(1, 2)
    assert heads.data_ptr() == turned.data_ptr() == x.data_ptr()
    ordered = turned.contiguous()
    assert ordered.data_ptr() != x.data_ptr()
    assert ordered.equal(turned)
    assert ordered.view(2, 6, 2).shape == (2, 6, 2)


def test_reshape_copies_only_when_it_must():
    x = torch.arange(24).view(2, 3, 4)
    assert x.reshape(6, 4).data_ptr() == x.data_ptr()
    turned = x.transpose(0, 1)
    assert turned.reshape(24).data_ptr() != x.data_ptr()
    assert x.contiguous().data_ptr() == x.data_ptr()


# --- modules --------------------------------------------------------------------------------------


class Bigram(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.table = nn.Embedding(vocab, vocab)

    def forward(self, ids):
        return self.table(ids)


def test_the_name_of_the_attribute_is_the_key_on_disk(tmp_path):
    model = Bigram(5)
    torch.save(model.state_dict(), tmp_path / "bigram.pt")
    loaded = torch.load(tmp_path / "bigram.pt", weights_only=True)
    assert list(loaded) == ["table.weight"]
    assert loaded["table.weight"].equal(model.table.weight)
    with pytest.raises(RuntimeError, match=r'Missing key.*"tables.weight"'):
        renamed = nn.Module()
        renamed.tables = nn.Embedding(5, 5)
        renamed.load_state_dict(loaded)


def test_a_call_does_more_than_forward():
    model = Bigram(5)
    seen = []
    model.register_forward_pre_hook(lambda module, inputs: seen.append("before"))
    model.register_forward_hook(lambda module, inputs, output: seen.append("after"))
    model.forward(torch.tensor([1]))
    assert seen == []
    model(torch.tensor([1]))
    assert seen == ["before", "after"]


def test_embedding_returns_rows_and_linear_is_a_product_and_a_bias():
    table = nn.Embedding(6, 3)
    assert table(torch.tensor([4, 1])).equal(table.weight[[4, 1]])
    layer, x = nn.Linear(5, 2), torch.randn(7, 5)
    assert torch.allclose(layer(x), x @ layer.weight.T + layer.bias, atol=1e-6)


# --- autograd -------------------------------------------------------------------------------------


def test_gradients_accumulate_until_they_are_zeroed():
    w = torch.tensor(2.0, requires_grad=True)
    for times in (1, 2, 3):
        ((3 * w - 12) ** 2).backward()
        assert w.grad.item() == -36.0 * times
    optimizer = torch.optim.SGD([w], lr=0.01)
    optimizer.zero_grad()
    assert w.grad is None
    ((3 * w - 12) ** 2).backward()
    assert w.grad.item() == -36.0


def test_a_step_goes_against_the_gradient_and_lowers_the_loss():
    w = torch.tensor(2.0, requires_grad=True)
    loss = (3 * w - 12) ** 2
    loss.backward()
    torch.optim.SGD([w], lr=0.01).step()
    assert w.item() == pytest.approx(2.36)
    assert ((3 * w - 12) ** 2).item() < loss.item()


def test_parameters_of_a_module_require_gradients():
    model = nn.ModuleList([nn.Linear(2, 3), nn.Embedding(4, 2)])
    assert [p.requires_grad for p in model.parameters()] == [True] * 3


# --- cross entropy --------------------------------------------------------------------------------


def test_cross_entropy_takes_logits_and_does_the_softmax_itself():
    logits = torch.tensor([[2.0, 0.5, -1.0, 0.1]])
    for token in range(4):
        by_hand = -logits.softmax(dim=-1)[0, token].log()
        assert torch.allclose(F.cross_entropy(logits, torch.tensor([token])), by_hand)


def test_ignore_index_leaves_padding_out():
    logits = torch.randn(5, 7, requires_grad=True)
    target = torch.tensor([3, 0, 2, 0, 6])
    loss = F.cross_entropy(logits, target, ignore_index=0)
    kept = [0, 2, 4]
    assert torch.allclose(loss, F.cross_entropy(logits[kept], target[kept]))
    loss.backward()
    assert logits.grad[[1, 3]].equal(torch.zeros(2, 7))


def test_even_odds_among_2030_moves_cost_7_6():
    loss = F.cross_entropy(torch.zeros(3, 2030), torch.tensor([0, 1000, 2029]))
    assert loss.item() == pytest.approx(math.log(2030), abs=1e-5)
    assert round(loss.item(), 1) == 7.6


def test_the_bigram_cannot_go_below_the_floor_of_its_data():
    games = ["abcde", "abcdf", "agchi", "ijklm"]  # a letter for each move
    pairs = Counter(pair for game in games for pair in zip("^" + game, game, strict=False))
    seen = Counter(first for first, _ in pairs.elements())
    floor = sum(-n * math.log(n / seen[first]) for (first, _), n in pairs.items()) / 20
    assert floor == pytest.approx(0.373, abs=5e-4)


# --- evaluating -----------------------------------------------------------------------------------


def test_train_and_eval_switch_dropout():
    dropout, x = nn.Dropout(0.5), torch.ones(1000)
    torch.manual_seed(0)
    assert dropout(x).eq(0).sum().item() > 300
    assert not dropout(x).equal(dropout(x))
    dropout.eval()
    assert dropout(x).equal(x)
    dropout.train()
    assert set(dropout(x).tolist()) == {0.0, 2.0}


def test_no_grad_works_as_a_decorator():
    layer = nn.Linear(3, 3)

    @torch.no_grad()
    def measure(x):
        return layer(x)

    assert not measure(torch.ones(1, 3)).requires_grad
    assert layer(torch.ones(1, 3)).requires_grad
    assert measure.__name__ == "measure"


def test_eval_alone_still_records_and_no_grad_alone_still_drops():
    model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5))
    model.eval()
    assert model(torch.ones(1, 4)).requires_grad
    model.train()
    with torch.no_grad():
        assert model(torch.ones(1, 4)).eq(0).any()


# --- device and precision -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        lambda here, there: here + there,
        lambda here, there: there * here,
        lambda here, there: torch.cat([here, there]),
    ],
)
def test_two_devices_in_one_operation_are_an_error_that_names_both(operation):
    with pytest.raises(RuntimeError) as failure:
        operation(torch.ones(2), torch.ones(2, device="meta"))
    assert "cpu" in str(failure.value)
    assert "meta" in str(failure.value)


def test_a_model_moves_in_place_and_a_batch_is_returned():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    assert model.to("meta") is model
    assert {p.device.type for p in model.parameters()} == {"meta"}
    batch = torch.ones(1, 2)
    assert model(batch.to("meta")).shape == (1, 2)
    assert batch.device.type == "cpu"


def test_autocast_multiplies_in_bfloat16_and_keeps_the_weights():
    layer, x = nn.Linear(8, 8), torch.randn(4, 8)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        inside = layer(x)
    assert inside.dtype == torch.bfloat16
    assert layer.weight.dtype == torch.float32
    assert layer(x).dtype == torch.float32
    assert torch.allclose(inside.float(), layer(x), atol=0.05)


# --- attention ------------------------------------------------------------------------------------


def test_the_last_two_dimensions_multiply_and_the_rest_is_a_batch():
    q, k = torch.randn(2, 4, 5, 3), torch.randn(2, 4, 5, 3)  # (B, H, T, D)
    scores = q @ k.transpose(-2, -1)
    assert scores.shape == (2, 4, 5, 5)
    assert torch.allclose(scores[1, 2], q[1, 2] @ k[1, 2].T, atol=1e-6)


def test_without_the_transpose_heads_multiply_heads():
    q, k = torch.randn(2, 5, 4, 3), torch.randn(2, 5, 4, 3)  # (B, T, H, D)
    assert (q @ k.transpose(-2, -1)).shape == (2, 5, 4, 4)


def test_sizes_of_the_small_model():
    scores = torch.empty(64, 8, 200, 64, device="meta") @ torch.empty(
        64, 8, 64, 200, device="meta"
    )
    assert scores.shape == (64, 8, 200, 200)
    assert scores.numel() == 20_480_000


def test_fused_attention_equals_the_table_written_out():
    q, k, v = torch.randn(3, 2, 4, 6, 8)
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(-2, -1) / 8**0.5).masked_fill(future, -math.inf)
    expected = scores.softmax(dim=-1) @ v
    fused = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(fused, expected, atol=1e-5)
