"""In-place calls and `out=` on memory that overlaps: which are refused, and with what words."""

import warnings

#: name: call of a written tensor and of another operand of its shape.
UNARY = ("neg_ exp_ abs_ relu_ sigmoid_ clamp_min_(0) round_ sqrt_ sin_ zero_ fill_(2) tril_ triu_ "
         "cumsum_(0) bernoulli_(0.5) uniform_ normal_ random_ exponential_ geometric_(0.5) "
         "nan_to_num_ square_ pow_(2) add_(1) mul_(2) div_(2) sub_(1) fmod_(2) remainder_(2) "
         "clamp_(0,1) logical_not_ fill_diagonal_(1) erf_ reciprocal_ sign_ cumprod_(0) "
         "renorm_(2,0,1.0) hardtanh_(0,1) leaky_relu_ elu_ dropout_ conj_physical_ floor_ "
         "trunc_ frac_ digamma_ lgamma_ polygamma_(1) i0_ mvlgamma_(1) threshold_(0,1) "
         "cauchy_ log_normal_ deg2rad_ logit_ expm1_ log1p_ rsqrt_").split()
BINARY = ("add_ sub_ mul_ div_ copy_ pow_ atan2_ fmod_ remainder_ logical_and_ logical_or_ eq_ "
          "lt_ ge_ ne_ maximum_out minimum_out hypot_ nextafter_ floor_divide_ copysign_ "
          "heaviside_ xlogy_ addcmul_ addcdiv_ lerp_ masked_fill_ masked_scatter_ where_out "
          "index_add_ index_copy_ index_fill_ index_put_ put_ scatter_ scatter_add_ "
          "scatter_reduce_ index_reduce_ addmm_ addbmm_ addmv_ addr_ ldexp_ igamma_ float_power_ "
          "cumsum_out sum_out add_out neg_out mm_out cat_out gather_out index_select_out "
          "sort_out topk_out max_out clone_out setitem iadd").split()


def layouts(m):
    """name: (written tensor, other operand), both of 4 by 4 elements."""
    def base():
        return m.arange(1, 41, dtype=m.float32) / 40

    x = base()
    made = {"same": (x[:16].view(4, 4),) * 2}
    x = base()
    made["equal"] = (x[:16].view(4, 4), x[:16].view(4, 4))
    x = base()
    made["shifted"] = (x[4:20].view(4, 4), x[:16].view(4, 4))
    x = base()
    made["shifted back"] = (x[:16].view(4, 4), x[1:17].view(4, 4))
    x = base()
    made["transposed"] = (x[:16].view(4, 4), x[:16].view(4, 4).t())
    x = base()
    made["sliced"] = (x[:32].view(4, 8)[:, ::2], x[:32].view(4, 8)[:, 1::2])
    x = base()
    made["apart"] = (x[:16].view(4, 4), x[20:36].view(4, 4))
    x = base()
    made["read expanded"] = (x[:16].view(4, 4), x[:4].expand(4, 4))
    x = base()
    made["written expanded"] = (x[:4].expand(4, 4), base()[:16].view(4, 4))
    x = base()
    made["written column"] = (x[:4].view(4, 1).expand(4, 4), base()[:16].view(4, 4))
    x = base()
    made["written windows"] = (x[:7].unfold(0, 4, 1), base()[:16].view(4, 4))
    x = base()
    made["written one"] = (x[:4].view(4, 1).expand(4, 1), base()[:4].view(4, 1))
    x = base()
    made["written empty"] = (x[:1].expand(0, 4), base()[:0].view(0, 4))
    return made


def unary(m, name, x):
    """Call an in-place method, given as `name_` or `name_(numbers)`."""
    method, _, rest = name.partition("(")
    numbers = [float(n) if "." in n else int(n) for n in rest.rstrip(")").split(",") if n]
    target = m.nn.functional if method in ("hardtanh_", "leaky_relu_", "elu_", "threshold_") \
        else m.special if method == "special" else None
    if method == "dropout_":
        return m.dropout_(x, 0.5, True)
    if method == "polygamma_":
        return x.polygamma_(1)
    if target is not None:
        return getattr(target, method)(x, *numbers)
    return getattr(x, method)(*numbers)


def binary(m, name, x, y):
    """Call a method that writes to x and reads y."""
    index = m.arange(x.shape[0])
    places = m.zeros(x.shape, dtype=m.int64)
    special = {
        "addcmul_": lambda: x.addcmul_(y, y), "addcdiv_": lambda: x.addcdiv_(y, y),
        "lerp_": lambda: x.lerp_(y, 0.5), "masked_fill_": lambda: x.masked_fill_(y > 0.2, 1.0),
        "masked_scatter_": lambda: x.masked_scatter_(m.ones(x.shape, dtype=m.bool), y),
        "where_out": lambda: m.where(m.ones(x.shape, dtype=m.bool), y, y, out=x),
        "index_add_": lambda: x.index_add_(0, index, y),
        "index_copy_": lambda: x.index_copy_(0, index, y),
        "index_fill_": lambda: x.index_fill_(0, index[:1], 1.0),
        "index_put_": lambda: x.index_put_((index,), y),
        "put_": lambda: x.put_(m.arange(x.numel()), y.reshape(-1)[:x.numel()]),
        "scatter_": lambda: x.scatter_(0, places, y),
        "scatter_add_": lambda: x.scatter_add_(0, places, y),
        "scatter_reduce_": lambda: x.scatter_reduce_(0, places, y, "sum"),
        "index_reduce_": lambda: x.index_reduce_(0, index, y, "amax"),
        "addmm_": lambda: x.addmm_(y, y), "addbmm_": lambda: x.addbmm_(y[None], y[None]),
        "addmv_": lambda: x[0].addmv_(y, y[0]), "addr_": lambda: x.addr_(y[0], y[1]),
        "cumsum_out": lambda: m.cumsum(y, 0, out=x), "sum_out": lambda: m.sum(y, 0, out=x[0]),
        "mm_out": lambda: m.mm(y, y, out=x), "cat_out": lambda: m.cat([y[:2], y[2:]], out=x),
        "gather_out": lambda: m.gather(y, 0, places, out=x),
        "index_select_out": lambda: m.index_select(y, 0, index, out=x),
        "sort_out": lambda: m.sort(y, out=(x, m.empty(0, dtype=m.int64))),
        "topk_out": lambda: m.topk(y, 4, out=(x, m.empty(0, dtype=m.int64))),
        "max_out": lambda: m.amax(y, 0, out=x[0]), "clone_out": lambda: m.clamp(y, 0, 1, out=x),
        "setitem": lambda: x.__setitem__(slice(None), y), "iadd": lambda: x.__iadd__(y),
    }
    if name in special:
        return special[name]()
    if name.endswith("_out"):
        function = getattr(m, name[:-4])
        return function(y, out=x) if name == "neg_out" else function(y, y, out=x)
    return getattr(x, name)(y)


def outcome(function):
    """"" or the first part of what is raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
    except Exception as error:  # what it says is compared
        text = str(error)
        for word, mark in (("more than one element of the written-to tensor", "more"),
                           ("some elements of the input tensor and the written-to", "some")):
            if word in text:
                return mark
        return "!" + type(error).__name__
    return ""


def results(m):
    """{call: outcomes for each pair of operands}."""
    names = list(layouts(m))
    found = {}
    for name in UNARY:
        found[name] = [outcome(lambda k=k, name=name: unary(m, name, layouts(m)[k][0]))
                       for k in names if k.startswith("written")]
    for name in BINARY:
        found[f"{name} y"] = [outcome(lambda k=k, name=name: binary(m, name, *layouts(m)[k]))
                              for k in names]
    return found
