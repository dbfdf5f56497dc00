"""Facts about an operator that can be compared between packages: see record_operators.py."""

import warnings
import weakref

import linalg_samples
import operator_cases

CODES = {"bool": "b", "uint8": "u", "int32": "i", "int64": "l", "float16": "h",
         "bfloat16": "s", "float32": "f", "float64": "d", "complex64": "c"}
DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64")
STRIDE_LAYOUTS = ("contiguous", "transposed", "channels_last", "sliced", "expanded", "offset",
                  "scalars", "empty")


#: PyTorch's function of this name takes other arguments or gives other results.
OTHERS = ("pool", "binary_cross_entropy_with_logits", "fill_diagonal", "embedding_bag", "kl_div",
          "instance_norm")


def public(package, name):
    """The package's function or method of a record's name, or None."""
    if any(part in name for part in OTHERS) or "_" in (name[0], name[-1]):
        return None
    for part in ("linalg", "fft", "special"):
        if name.startswith(f"{part}_"):
            return getattr(getattr(package, part), name.removeprefix(f"{part}_"), None)
    homes = (package, package.Tensor, package.nn.functional, package.special, package.linalg)
    return next((getattr(home, name) for home in homes if hasattr(home, name)), None)


def recordable(one):
    """Whether there are cases to record an operator with."""
    return operator_cases.generated(one) or one.name in linalg_samples.CASES


def cases(one, package, dtype="float32", layout="contiguous", small=False):
    """The cases of the generated tests, or those of torch.linalg."""
    samples = linalg_samples.CASES.get(one.name)
    if samples is None:
        return operator_cases.cases(one, package, dtype, layout, small)
    seed = sum(map(ord, one.name))
    return samples(operator_cases.Maker(package, dtype, layout, seed=seed))


def attempt(one, function, case):
    """The result, or the name of the error's class."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return operator_cases.call(one, function, case)
    except Exception as error:  # the class is what is compared
        return "!" + type(error).__name__


def code(package, result):
    """A letter for each dtype in a result."""
    if isinstance(result, str):
        return result
    return "".join(CODES.get(str(t.dtype).removeprefix("torch."), "?")
                   for t in operator_cases.tensors_in(package, result))


def dtypes(package, one, function, device="cpu"):
    """Result dtypes by argument dtypes, as letters."""
    def place(case):
        return operator_cases.map_tensors(package, case, lambda t: package.empty_strided(
            t.shape, t.stride(), dtype=t.dtype, device=device) if device == "meta" else t)

    if one.samples is not None or one.kind not in ("elementwise", "reduce"):
        return {}
    tensors = [p for p in one.schema.parameters if p.is_tensor and not p.optional]
    found = {}
    for name in DTYPES:
        case = cases(one, package, name)[0]
        found[CODES[name]] = code(package, attempt(one, function, place(case)))
        if len(tensors) != 2:
            continue
        for other in DTYPES:
            for mark, shape in (("", (3, 4)), ("0", ())):
                make = operator_cases.Maker(package, other, domain=(1.0, 3.0))
                second = make.tensor([True] * len(range(12 if shape else 1)), other, shape) \
                    if other == "bool" else make(*shape)
                mixed = (case[0], second, *case[2:])
                found[CODES[name] + CODES[other] + mark] = code(
                    package, attempt(one, function, place(mixed)))
    return _grouped(found)


def _grouped(found):
    """{result: "space-separated keys"}: shorter than one entry a key."""
    made = {}
    for key, value in found.items():
        made.setdefault(value, []).append(key)
    return {value: " ".join(keys) for value, keys in made.items()}


def strides(package, one, function):
    """Per layout and case, of each result: strides, "@" and its offset in the storage if it has
    one, "=" if it is an argument's memory."""
    found = {}
    for layout in STRIDE_LAYOUTS:
        cases = stride_cases(one, package, layout)
        found[layout] = [_strides(package, one, function, case) for case in cases]
    return {k: v for k, v in found.items() if v}


def stride_cases(one, package, layout):
    """The record's cases with their tensors in a layout.

    offset: tensors begin beyond the start of their storage. scalars, empty: the contiguous cases
    with each tensor replaced by its first element, or by none of its rows. channels_last: of 4 or
    5 dimensions, images and volumes; other operands of the case are contiguous.
    """
    if layout == "channels_last":
        return _image_cases(one, package)
    if layout == "scalars":
        return [operator_cases.map_tensors(package, case, _first_of) for case in
                cases(one, package) or []]
    if layout == "empty":
        return [operator_cases.map_tensors(package, case, lambda t: t[:0] if t.dim() else t)
                for case in cases(one, package) or []]
    return cases(one, package, layout=layout) or []


def _first_of(tensor):
    return tensor.reshape(-1)[0].clone() if tensor.numel() else tensor


def _image_cases(one, package):
    make = operator_cases.Maker(package, layout="channels_last", domain=(0.3, 0.8))
    if one.kind == "elementwise" and one.samples is None:
        count = sum(p.is_tensor and not p.optional for p in one.schema.parameters)
        return [operator_cases.filled(one, make, shapes) for shapes in
                ([(2, 3, 4, 5)] * count, [(2, 1, 3, 1)] * count, [(2, 3, 2, 1, 2)] * count)]
    if one.kind == "reduce" and one.samples is None:
        names = [p.name for p in one.schema.parameters]
        more = [(), (1,), (-1, True)] if "dim" in names else [()]
        return [(make(2, 3, 4, 5), *rest) for rest in more]
    found = cases(one, package, layout="channels_last") or []
    return [case for case in found if any(
        t.dim() in (4, 5) for t in operator_cases.tensors_in(package, case))]


def _strides(package, one, function, case):
    result = attempt(one, function, case)
    if isinstance(result, str):
        return result
    places = {memory(t) for t in operator_cases.tensors_in(package, case)}
    return " ".join(_place(t, places) for t in operator_cases.tensors_in(package, result))


def _place(tensor, places):
    start = tensor.storage_offset()
    return (",".join(map(str, tensor.stride())) + (f"@{start}" if start else "")
            + ("=" if memory(tensor) in places else ""))


def memory(tensor):
    """Where a tensor's storage is."""
    return tensor.untyped_storage().data_ptr() if tensor.numel() else id(tensor)


class Kept:
    """A tensor that the tape keeps, for as long as it does."""

    def __init__(self, tensor):
        self.tensor = tensor


def kept_bytes(package, one, function):
    """Per case, how many bytes of storages the results' tape keeps alive."""
    found = []
    for case in cases(one, package, "float64", small=True) or []:
        case = operator_cases.map_tensors(package, case, lambda t: _inner(package, t))
        alive = weakref.WeakSet()

        def pack(tensor, alive=alive):
            made = Kept(tensor.detach())  # the tensor itself might hold its node
            alive.add(made)
            return made

        with package.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
            result = attempt(one, function, case)
        storages = [kept.tensor.untyped_storage() for kept in alive]
        found.append(result[:1] if isinstance(result, str) else sum(
            {s.data_ptr(): s.nbytes() for s in storages}.values()))
    return found


def nodes(package, one, function):
    """Per case: the results' names on the tape, "|" that of an in-place call where there is one
    ("-": not on the tape)."""
    found = []
    for index in range(len(cases(one, package, "float64", small=True) or [])):
        made = [_names(package, one, function, index, False)]
        inplace = getattr(package.Tensor, f"{one.name}_", None)
        if inplace is not None and one.schema.parameters[0].name == "self":
            made.append(_names(package, one, inplace, index, True))
        found.append("|".join(made))
    return found


def _names(package, one, function, index, inplace):
    case = cases(one, package, "float64", small=True)[index]
    case = operator_cases.map_tensors(
        package, case, lambda t: t.clone().requires_grad_() if t.dtype == package.float64 else t)
    if inplace:
        case = (case[0].clone(), *case[1:])
    made = attempt(one, function, case)
    return made if isinstance(made, str) else " ".join(
        "-" if t.grad_fn is None else t.grad_fn.name()
        for t in operator_cases.tensors_in(package, made))


def saved(package, one, function):
    """Per case, what may not change between forward and backward: "a0" is the first tensor of
    the arguments, "r0" the first result."""
    found = []
    for index in range(len(cases(one, package, "float64", small=True) or [])):
        found.append(" ".join(_kept(package, one, function, index)))
    return found if any(found) else []


def _kept(package, one, function, index):
    def run(change):
        case = cases(one, package, "float64", small=True)[index]
        case = operator_cases.map_tensors(package, case, lambda t: _inner(package, t))
        results = operator_cases.tensors_in(package, operator_cases.call(one, function, case))
        places = {f"a{k}": t for k, t in enumerate(operator_cases.tensors_in(package, case))}
        places |= {f"r{k}": t for k, t in enumerate(results)}
        if change is None:
            return list(places)
        with package.no_grad():
            places[change].zero_()
        total = sum(r.sum() for r in results if r.requires_grad)
        total.backward()
        return None

    try:
        names = run(None)
    except Exception as error:
        return ["!" + type(error).__name__]
    kept = []
    for name in names:
        try:
            run(name)
        except Exception as error:  # the wording is tests/autograd's matter
            if "modified by an inplace" in str(error):
                kept.append(name)
            elif name == names[0]:
                return ["-"]
    return kept


def _inner(package, tensor):
    """A tensor that is no leaf, so that it may be written to."""
    if tensor.dtype != package.float64:
        return tensor.clone()
    return tensor.clone().requires_grad_().clone()
