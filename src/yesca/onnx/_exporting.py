"""`torch.onnx.export`: a model, run on example inputs, as an ONNX model."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..autograd.grad_mode import no_grad
from ..base.frames import warn
from ..base.naming import lives_in
from ..nn.modules.module import Module
from ._assembling import assembled
from ._axes import Axes, asked
from ._program import ONNXProgram
from ._sizes import merged
from ._tracing import flat, trace
from .errors import OnnxExporterError, OnnxExporterWarning
from .rows import table

OLDEST, NEWEST = 11, 23  # of the versions that the rows can write
_exporting = False


@lives_in("torch.onnx")
class TrainingMode(enum.Enum):
    """Whether a model is exported as it is used, as it is, or as it is trained."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


@lives_in("torch.onnx")
class OperatorExportTypes(enum.Enum):
    """What is done with operators that ONNX lacks: here ONNX, an error, is the only way."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export() -> bool:
    """Whether `export` runs the model now."""
    return _exporting


@contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Iterator[None]:
    """The model in the mode of an export, inside; afterwards every module is as before."""
    modules = list(model.modules()) if isinstance(model, Module) else []
    before = [module.training for module in modules]
    if modules and mode is not TrainingMode.PRESERVE:
        model.train(mode is TrainingMode.TRAINING)
    try:
        yield
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


@contextmanager
def _marked() -> Iterator[None]:
    global _exporting
    before, _exporting = _exporting, True
    try:
        yield
    finally:
        _exporting = before


def export(
    model: Callable[..., Any], args: Any = (), f: Any = None, *,
    kwargs: dict[str, Any] | None = None, verbose: bool | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    opset_version: int | None = None, dynamo: bool = True, external_data: bool = True,
    dynamic_shapes: Any = None, custom_translation_table: Any = None, report: bool = False,
    optimize: bool = True, verify: bool = False, profile: bool = False,
    dump_exported_program: bool = False, artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True, keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None, training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True, custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False, autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """The operators that a model runs on example inputs, as an ONNX model.

    Parameters and buffers are initialisers of their names in the state_dict. What Python reads of
    tensors (`if`, `item()`) is fixed, with a warning; what depends on no input is a constant.

    Args:
        model: a module, or a function of tensors.
        args, kwargs: its arguments: a tuple, or one tensor; those that have names.
        f: the file to write; None gives the model only.
        input_names, output_names: in order; input names beyond the inputs are the parameters'.
        opset_version: ONNX's version of its operators; 20, or 17 with `dynamo=False`.
        dynamo: False gives None and one file; the model is the same.
        external_data: with dynamo, large parameters lie beside the file, in `f + ".data"`.
        dynamic_shapes: axes of any size by argument, `{"x": {0: "batch"}}`, or in order.
        dynamic_axes: the same by names of inputs and outputs; `{"input": [0]}` does too.
        verify: run the result by onnxruntime, and compare.
        export_params: False leaves the parameters' values out.
        keep_initializers_as_inputs: parameters are inputs as well.
        training: the mode that the model is in meanwhile.

    Returns an ONNXProgram, or None with `dynamo=False`. Raises ModuleNotFoundError without the
    package onnx, and OnnxExporterError (which names the operator and the line of the model) for
    what ONNX cannot say: no row for an operator, writes through views, random numbers, sizes that
    change the model's path.
    """
    opset = _checked(opset_version, dynamo, f, {
        "custom_translation_table": custom_translation_table, "custom_opsets": custom_opsets,
        "export_modules_as_functions": export_modules_as_functions}, operator_export_type)
    for name, wanted in (("report", report), ("profile", profile),
                         ("dump_exported_program", dump_exported_program)):
        if wanted:
            warn(f"torch.onnx.export: {name}=True writes nothing here", OnnxExporterWarning)
    positional, named = _arguments(args, kwargs)
    axes = asked(model, positional, named, input_names, output_names, dynamic_axes, dynamic_shapes)
    proto = _model(model, positional, named, training, axes, opset, output_names,
                   list(input_names or ())[len(axes.names):],
                   with_values=export_params, weights_as_inputs=keep_initializers_as_inputs)
    program = ONNXProgram(proto, external_data and dynamo and export_params)
    _shown(program, verbose)
    if verify:
        _verify(program, model, positional, named, training)
    _write(program, f)
    return program if dynamo else None


def _onnx() -> Any:
    """The package onnx."""
    try:
        import onnx
    except ImportError:
        raise ModuleNotFoundError("torch.onnx.export needs the package onnx: pip install "
                                  "'yesca[onnx]'", name="onnx") from None
    return onnx


def _model(model: Any, args: Any, kwargs: Any, training: TrainingMode, axes: Axes, opset: int,
           output_names: Sequence[str] | None, weight_names: list[str], **named: bool) -> Any:
    """The `onnx.ModelProto`: the model is run, with dynamic axes several times."""
    onnx = _onnx()
    with select_model_mode_for_export(model, training), no_grad(), _marked():
        weights = _weights(model)

        def run(args: Any, kwargs: Any) -> None:
            with _unwritten(model):
                model(*args, **kwargs)

        runs = []
        for sizes in axes.probes(run, args, kwargs):
            with _unwritten(model):
                runs.append(trace(model, *axes.arguments(args, kwargs, sizes), weights, table()))
        whole = merged([one for one, _ in runs], axes.sizes)
        return assembled(onnx, whole, axes, weights, opset, weight_names, output_names, **named)


def _shown(program: ONNXProgram, verbose: bool | None) -> None:
    if verbose:
        print(_onnx().printer.to_text(program.model_proto))


def _checked(opset: int | None, dynamo: bool, f: Any, lacking: dict[str, Any],
             kind: OperatorExportTypes) -> int:
    for name, value in lacking.items():
        if value:
            raise NotImplementedError(f"torch.onnx.export does not know {name} here")
    if kind is not OperatorExportTypes.ONNX:
        raise NotImplementedError(f"torch.onnx.export knows OperatorExportTypes.ONNX, not {kind}")
    if f is None and not dynamo:
        raise ValueError("Export path must be specified for the TorchScript-based exporter: "
                         "dynamo=False gives None, so f is the only result")
    opset = (20 if dynamo else 17) if opset is None else opset
    if not OLDEST <= opset <= NEWEST:
        raise ValueError(f"Unsupported ONNX opset version: {opset}; {OLDEST} to {NEWEST} are known")
    return opset


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    positional = args if isinstance(args, tuple) else (args,)
    if kwargs is None and positional and isinstance(positional[-1], dict) \
            and all(isinstance(name, str) for name in positional[-1]):
        return positional[:-1], positional[-1]
    return positional, dict(kwargs or {})


def _weights(model: Any) -> dict[str, Any]:
    """Parameters and buffers by their names in the state_dict."""
    if not isinstance(model, Module):
        return {}
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


@contextmanager
def _unwritten(model: Any) -> Iterator[None]:
    """Afterwards buffers hold what they held: running statistics, counters, caches."""
    buffers = list(model.buffers()) if isinstance(model, Module) else []
    before = [(one, one._version, one.detach().clone()) for one in buffers]
    try:
        yield
    finally:
        for one, version, content in before:
            if one._version != version:
                one.copy_(content)


def _verify(program: ONNXProgram, model: Any, args: Any, kwargs: Any, training: Any) -> None:
    from ..testing import assert_close

    with select_model_mode_for_export(model, training), no_grad():
        wanted = flat(model(*args, **kwargs))
    for one, other in zip(program(*args, **kwargs), wanted, strict=True):
        try:
            assert_close(one, other, rtol=1e-3, atol=1e-5)
        except AssertionError as error:
            raise OnnxExporterError(f"the exported model gives other results: {error}") from None


def _write(program: ONNXProgram, f: Any) -> None:
    if f is None:
        return
    if hasattr(f, "write"):
        f.write(program.model_proto.SerializeToString())
    else:
        program.save(f)


__all__ = ["OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export",
           "select_model_mode_for_export"]
