"""Arguments of operators that a schema does not tell and their records do not give.

`SAMPLES[name](make)`: tuples of arguments in the schema's order (see operator_cases.Maker).
`INTERNAL`: parts of other operators, reached through those in these tests.
"""

SAMPLES = {}


def sample(*names):
    """Enter a function for several operators."""
    def enter(function):
        SAMPLES.update(dict.fromkeys(names, function))
        return function

    return enter


def always(name, *shapes):
    """An operator of tensors of these shapes alone: one case per list of shapes."""
    SAMPLES[name] = lambda make: [tuple(make(*s) for s in case) for case in shapes]


# ---- products --------------------------------------------------------------------------------

always("mm", [(3, 4), (4, 2)], [(2, 0), (0, 3)], [(1, 5), (5, 1)])
always("bmm", [(2, 3, 4), (2, 4, 2)])
always("mv", [(3, 4), (4,)])
always("dot", [(5,), (5,)])
always("vdot", [(5,), (5,)])
always("outer", [(3,), (4,)])
always("inner", [(5,), (5,)], [(2, 4), (3, 4)])
always("kron", [(2, 3), (3, 2)])
always("matmul", [(4,), (4,)], [(3, 4), (4,)], [(4,), (4, 2)], [(2, 3, 4), (4, 5)],
       [(2, 1, 3, 4), (5, 4, 2)])
always("linalg_matmul", [(3, 4), (4, 2)])
always("linear", [(3, 4), (2, 4)], [(2, 3, 4), (5, 4), (5,)])
always("addmm", [(3, 2), (3, 4), (4, 2)], [(2,), (3, 4), (4, 2)])
always("addmv", [(3,), (3, 4), (4,)])
always("addr", [(3, 4), (3,), (4,)])
always("addbmm", [(3, 2), (2, 3, 4), (2, 4, 2)])
always("baddbmm", [(2, 3, 2), (2, 3, 4), (2, 4, 2)])
always("bilinear", [(3, 4), (3, 5), (2, 4, 5)], [(3, 4), (3, 5), (2, 4, 5), (2,)])
always("cdist", [(3, 4), (5, 4)], [(2, 3, 4), (2, 2, 4)])
always("linalg_vecdot", [(3, 4), (3, 4)])
sample("linalg_multi_dot")(lambda make: [([make(2, 3), make(3, 4), make(4, 2)],)])
sample("tensordot")(lambda make: [(make(2, 3, 4), make(3, 4, 5)),
                                  (make(2, 3, 4), make(4, 2), ((0, 2), (1, 0)))])


@sample("scaled_dot_product_attention")
def _attention(make):
    query, key, value = make(2, 1, 3, 4), make(2, 1, 5, 4), make(2, 1, 5, 4)
    return [(query, key, value), (query, key, value, make.truths(3, 5) | True),
            (make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4), None, 0.0, True)]


@sample("conv1d")
def _conv1d(make):
    return [(make(2, 3, 8), make(4, 3, 3), make(4), 2, 1), (make(3, 8), make(4, 3, 3)),
            (make(2, 4, 8), make(6, 2, 3), None, 1, 0, 2, 2)]


@sample("conv2d")
def _conv2d(make):
    return [(make(2, 3, 5, 6), make(4, 3, 3, 3), make(4), 1, 1), (
        make(1, 2, 5, 5), make(2, 1, 2, 3), None, (2, 1), (1, 0), 1, 2)]


sample("conv3d")(lambda make: [(make(1, 2, 3, 4, 4), make(2, 2, 2, 2, 2), make(2))])
sample("conv_transpose1d")(lambda make: [(make(2, 3, 5), make(3, 2, 3), make(2), 2, 1, 1)])
sample("conv_transpose2d")(lambda make: [(make(1, 3, 4, 3), make(3, 2, 2, 3), None, 2)])
sample("conv_transpose3d")(lambda make: [(make(1, 2, 2, 3, 2), make(2, 1, 2, 2, 2))])


for _rank, _shape in ((1, (2, 3, 6)), (2, (1, 2, 5, 6)), (3, (1, 1, 4, 5, 4))):
    SAMPLES[f"avg_pool{_rank}d"] = lambda make, shape=_shape: [
        (make(*shape), 2), (make(*shape), 3, 1, 1)]
    SAMPLES[f"max_pool{_rank}d"] = SAMPLES[f"max_pool{_rank}d_with_indices"] = \
        lambda make, shape=_shape: [(make(*shape), 2), (make(*shape), 2, 1, 1, 2, True)]
    SAMPLES[f"adaptive_avg_pool{_rank}d"] = SAMPLES[f"adaptive_max_pool{_rank}d"] = \
        lambda make, shape=_shape: [(make(*shape), 3), (make(*shape), 1)]
for _rank, _shape in ((2, (1, 2, 5, 6)), (3, (1, 1, 4, 5, 4))):
    SAMPLES[f"fractional_max_pool{_rank}d"] = lambda make, shape=_shape: [
        (make(*shape), size, 2, make(*shape[:2], len(shape) - 2, low=0.0, high=0.9))
        for size in (2, 1)]
sample("pixel_shuffle")(lambda make: [(make(1, 8, 2, 3), 2)])
sample("pixel_unshuffle")(lambda make: [(make(1, 2, 4, 6), 2)])
sample("channel_shuffle", "native_channel_shuffle")(lambda make: [(make(1, 6, 2, 2), 3)])
sample("im2col")(lambda make: [(make(1, 2, 4, 5), (2, 2), (1, 1), (1, 0), (2, 1))])
sample("col2im")(lambda make: [(make(1, 8, 12), (4, 5), (2, 2), (1, 1), (1, 0), (2, 1))])
sample("resample")(lambda make: [(make(1, 2, 4, 3), (5, 6), "linear", False, (None, None))])
for _name, _shape in (("linear1d", (4,)), ("bilinear2d", (4, 3)), ("bicubic2d", (4, 5)),
                      ("trilinear3d", (2, 3, 2))):
    SAMPLES[f"upsample_{_name}"] = lambda make, shape=_shape: [
        (make(1, 2, *shape), tuple(n + 2 for n in shape), True), (make(1, 2, *shape), shape, False)]
sample("resample_smooth")(lambda make: [
    (make(1, 2, 6, 5), (2, 3), "cubic", False, None),
    (make(1, 2, 3, 9), (4, 2), "lanczos", False, None)])
sample("resample_smooth_backward")(lambda make: [
    (make(1, 2, 2, 3), (1, 2, 6, 5), "linear", False, None)])
for _name in ("bilinear", "bicubic", "lanczos"):
    SAMPLES[f"_upsample_{_name}2d_aa"] = lambda make: [
        (make(1, 2, 7, 4), (3, 6), False), (make(1, 2, 5, 3), (2, 2), True)]
for _rank in (1, 2, 3):
    SAMPLES[f"upsample_nearest{_rank}d"] = SAMPLES[f"_upsample_nearest_exact{_rank}d"] = \
        lambda make, rank=_rank: [(make(1, 2, *(3,) * rank), (5,) * rank)]


# ---- normalisation and losses ----------------------------------------------------------------

sample("layer_norm")(lambda make: [(make(3, 4), (4,)), (make(2, 3, 4), (3, 4), make(3, 4),
                                                        make(3, 4))])
sample("rms_norm")(lambda make: [(make(3, 4), (4,)), (make(2, 3, 4), (4,), make(4))])
sample("group_norm")(lambda make: [(make(2, 4, 3), 2), (make(2, 4, 3), 2, make(4), make(4))])
sample("batch_norm")(lambda make: [
    (make(4, 3, 2), make(3), make(3), None, None, True, 0.1, 1e-5, False),
    (make(4, 3), None, None, make(3), make(3, low=0.5), False, 0.1, 1e-5, False)])
sample("instance_norm")(lambda make: [
    (make(2, 3, 4), make(3), make(3), None, None, True, 0.1, 1e-5, False)])


@sample("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
        "poisson_nll_loss")
def _losses(make):
    return [(make(3, 4), make(3, 4))]


@sample("binary_cross_entropy", "binary_cross_entropy_elements")
def _probabilities(make):
    return [(make(3, 4, low=0.1, high=0.9), make(3, 4, low=0.1, high=0.9)),
            (make(3, low=0.1, high=0.9), make(3, low=0.1, high=0.9), make(3))]


@sample("binary_cross_entropy_with_logits")
def _logits(make):
    return [(make(3, 4), make(3, 4, low=0.1, high=0.9)),
            (make(3, 2), make(3, 2, low=0.1, high=0.9), None, make(2, low=0.5))]


@sample("kl_div", "kl_div_elements")
def _divergence(make):
    return [(make(3, 4), make(3, 4, low=0.1, high=0.9)), (make(3, 4), make(3, 4), True)]


@sample("nll_loss")
def _nll_loss(make):
    return [(make(3, 4), make.integers(3)), (make(2, 4, 3), make.integers(2, 3), make(4, low=0.2)),
            (make(3, 4), make.integers(3), None, -100, "none")]


@sample("cross_entropy")
def _cross_entropy(make):
    return [(make(3, 4), make.integers(3)),
            (make(2, 4, 3), make.integers(2, 3), make(4, low=0.2), 1, "sum", 0.1),
            (make(3, 4), make(3, 4, low=0.1, high=0.4))]


sample("float_power")(lambda make: [(make(3, 4, low=0.5), make(4)), (make(3, low=0.5), 2)])
sample("polygamma")(lambda make: [(1, make(3, 4, low=0.5, high=4)), (2, make(3, low=0.5, high=4))])
sample("mvlgamma")(lambda make: [(make(3, 4, low=2.5, high=5), 2)])
sample("igamma", "igammac")(lambda make: [(make(3, 4, low=0.5, high=4),
                                           make(3, 4, low=0.5, high=4))])


# ---- indices ---------------------------------------------------------------------------------

sample("embedding")(lambda make: [(make(5, 3), make.integers(2, 4))])
sample("embedding_bag")(lambda make: [(make(5, 3), make.integers(6), make.integers(1, high=1))])
sample("gather")(lambda make: [(make(3, 4), 1, make.integers(3, 2)), (make(4, 3), 0,
                                                                     make.integers(2, 3))])
sample("index_select")(lambda make: [(make(3, 4), 1, make.integers(5)), (make(4), 0,
                                                                        make.integers(2))])
sample("take")(lambda make: [(make(3, 4), make.integers(2, 2))])
sample("take_along_dim")(lambda make: [(make(3, 4), make.integers(3, 2), 1), (make(3, 4),
                                                                              make.integers(5))])


def _apart(make, count):
    """Different indices, contiguous in every layout."""
    return make.tensor(range(count - 1, -1, -1), "int64", (count,))


sample("index_add", "index_copy", "index_add_", "index_copy_")(lambda make: [
    (make(4, 3), 0, _apart(make, 2), make(2, 3))])
sample("index_fill", "index_fill_")(lambda make: [(make(4, 3), 1, _apart(make, 2), 1)])
sample("index_reduce", "index_reduce_")(lambda make: [
    (make(4, 3), 0, _apart(make, 2), make(2, 3), "amax")])
sample("index_put", "index_put_")(lambda make: [
    (make(4, 3), (_apart(make, 2),), make(2, 3)),
    (make(4, 3), (_apart(make, 2), _apart(make, 2)), make(2), True)])
sample("masked_scatter", "masked_scatter_")(lambda make: [
    (make(3, 4), make.truths(3, 4), make(12))])
sample("masked_select")(lambda make: [(make(3, 4), make.truths(3, 4))])
sample("put", "put_")(lambda make: [(make(3, 4), _apart(make, 3), make(3))])
sample("scatter", "scatter_", "scatter_add", "scatter_add_")(lambda make: [
    (make(3, 4), 0, _apart(make, 3).reshape(1, 3), make(1, 3))])
sample("scatter_reduce", "scatter_reduce_")(lambda make: [
    (make(3, 4), 1, make.integers(3, 5), make(3, 5), "sum"),
    (make(3, 4), 1, make.integers(3, 5), make(3, 5), "amax")])
sample("select_scatter")(lambda make: [(make(3, 4), make(3), 1, 2)])
sample("slice_scatter")(lambda make: [(make(4, 3), make(2, 3), 0, 1, 3)])
sample("diagonal_scatter")(lambda make: [(make(3, 4), make(3))])
sample("getitem")(lambda make: [(make(3, 4), (1, slice(None, None, 2))),
                                (make(2, 3, 4), (slice(1, None), None, -1))])
sample("fill_diagonal")(lambda make: [(make(3, 4), 1)])


# ---- parts, joins, order ---------------------------------------------------------------------

sample("cat", "stack")(lambda make: [([make(3, 4), make(3, 4)],), ([make(2, 3), make(2, 3)], 1)])
sample("vstack", "hstack", "dstack", "column_stack")(lambda make: [
    ([make(3, 4), make(3, 4)],), ([make(3), make(3)],)])
sample("block_diag_list")(lambda make: [([make(2, 3), make(1, 2)],)])
sample("split", "split_copy", "unsafe_split")(lambda make: [(make(5, 3), 2), (make(3, 4), 3, 1)])
sample("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")(
    lambda make: [(make(5, 3), (2, 3))])
sample("chunk", "tensor_split", "unsafe_chunk")(lambda make: [(make(5, 3), 2), (make(3, 4), 2, 1)])
sample("hsplit")(lambda make: [(make(3, 4), 2)])
sample("vsplit")(lambda make: [(make(4, 3), 2)])
sample("dsplit")(lambda make: [(make(2, 3, 4), 2)])
sample("flip")(lambda make: [(make(3, 4), (0,)), (make(2, 3, 4), (0, 2))])
sample("roll")(lambda make: [(make(3, 4), 1, 0), (make(3, 4), 2)])
sample("repeat", "tile")(lambda make: [(make(3, 4), (2, 1)), (make(3), (2, 2))])
sample("repeat_interleave")(lambda make: [(make(3, 4), 2), (make(3, 4), 2, 1)])
sample("topk")(lambda make: [(make(3, 5), 2), (make(3, 5), 2, 0, False)])
sample("kthvalue")(lambda make: [(make(3, 5), 2), (make(3, 5), 1, 0, True)])
sample("median", "nanmedian")(lambda make: [(make(3, 4),), (make(2, 3, 2), 1),
                                            (make(3, 5), 0, True)])
sample("quantile", "nanquantile")(lambda make: [(make(3, 5), 0.4), (make(3, 5), 0.25, 1, True)])
sample("searchsorted")(lambda make: [(make(3, 5).sort()[0], make(3, 2))])
sample("bucketize")(lambda make: [(make(3, 4), make(5).sort()[0])])
sample("isin")(lambda make: [(make(3, 4), make(5))])
sample("bincount")(lambda make: [(make.integers(7),)])
sample("equal", "allclose")(lambda make: [(make(3, 4), make(3, 4))])
sample("t_copy", "trace")(lambda make: [(make(3, 4),)])
sample("diag", "diagflat")(lambda make: [(make(3),), (make(3, 4),)])
sample("threshold", "threshold_")(lambda make: [(make(3, 4), 0, 1)])

for _name, _arguments in (
    ("view_copy", ((2, 6),)), ("expand_copy", ((2, 3, 4),)), ("permute_copy", ((1, 0),)),
    ("transpose_copy", (0, 1)), ("select_copy", (0, 1)), ("narrow_copy", (1, 1, 2)),
    ("unfold_copy", (1, 2, 1)), ("as_strided_copy", ((2, 2), (1, 2), 1)),
):
    SAMPLES[_name] = lambda make, rest=_arguments: [(make(3, 4), *rest)]

always("cross", [(4, 3), (4, 3)])
always("pdist", [(4, 3)])
sample("vander")(lambda make: [(make(4), 3)])
sample("matrix_power")(lambda make: [(make(3, 3), 3), (make(2, 3, 3), 2)])

#: Matrices that must be square, definite or of full rank, complex numbers, and floats of 8 bits,
#: which the arguments here are not: their families have tests of their own.
ELSEWHERE = frozenset("""
    cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_parts lu_solve
    lu_unpack lu_permutation matrix_exp matrix_exp_parts orgqr ormqr slogdet triangular_parts
    triangular_solve complex polar real_part imag_part imag view_as_complex view_as_real
    view_as_complex_copy view_as_real_copy conj_view
    angle ctc_loss multilabel_margin_loss istft _scaled_mm _quantized_linear
    _quantized_gru_walk _quantized_lstm_walk _quantized_rnn_relu_walk _quantized_rnn_tanh_walk
    fake_quantize_per_channel_affine
    """.split())
INTERNAL = frozenset("""
    _bag_indices _bag_starts _bag_sums attention attention_slopes batch_norm_backward cat_list
    cdist_direct cdist_product cdist_slopes contraction convolution convolution_derivatives
    cross_entropy_backward
    cross_entropy_labels cross_entropy_probabilities cross_entropy_probabilities_backward
    embedding_dense_backward filled filled_like fold_product fused_rms_norm gather_backward
    getitem_backward group_norm_backward group_norm_forward histogram_fixed index_at
    index_at_backward index_put_at kthvalue_order layer_norm_backward line
    log_softmax_backward_data matrix_product median_all median_order mode_order nanmedian_all
    nanmedian_order
    native_batch_norm native_layer_norm nll_loss_backward nll_loss_forward part_scatter positions
    gru_slopes gru_walk lstm_slopes lstm_walk rnn_relu_slopes rnn_relu_walk rnn_tanh_slopes
    rnn_tanh_walk
    ramp rms_norm_backward roll_one scatter_fold scatter_reduce_fold search_sorted
    softmax_backward_data sort_order split_pieces split_views spread stack_list topk_order
    identity random_chances random_fill random_new underived uninitialised uninitialised_like
    _dirichlet_grad _standard_gamma_grad
    histogram binary_cross_entropy_reduced binary_cross_entropy_with_logits_reduced
    huber_loss_reduced kl_div_reduced mse_loss_reduced poisson_nll_loss_reduced
    smooth_l1_loss_reduced soft_margin_loss_reduced adaptive_avg_pool adaptive_avg_pool_backward
    cross_parts norm_power
    adaptive_max_pool avg_pool avg_pool_backward fractional_max_pool
    col2im_blocks im2col_blocks max_pool max_pool_backward resample_backward stepped take_flat
    drawn_gamma drawn_gamma_slope drawn_beta_slope gamma_slope beta_slope
    """.split())
