"""What an export gives: the ONNX model, to be kept, looked at or run."""

from __future__ import annotations

import os
from typing import Any

from ..base.naming import lives_in

#: Larger initialisers lie beside the model where they are asked to.
APART = 1024


@lives_in("torch.onnx")
class ONNXProgram:
    """An exported model.

    `model_proto` is the `onnx.ModelProto`; `save(path)` writes it; a call runs it by onnxruntime
    on tensors and gives a list of tensors.
    """

    def __init__(self, model_proto: Any, external: bool = False) -> None:
        self.model_proto = model_proto
        self._external = external
        self._session: Any = None

    def save(self, destination: str | os.PathLike[str], *, include_initializers: bool = True,
             keep_initializers_as_inputs: bool = False, external_data: bool | None = None) -> None:
        """Write the model; with external_data the large initialisers go to `destination.data`."""
        import onnx

        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        if not include_initializers or keep_initializers_as_inputs:
            have = {one.name for one in model.graph.input}
            for one in model.graph.initializer:
                if one.name not in have:
                    model.graph.input.append(onnx.helper.make_tensor_value_info(
                        one.name, one.data_type, list(one.dims)))
        if not include_initializers:
            del model.graph.initializer[:]
        path = os.fspath(destination)
        if self._external if external_data is None else external_data:
            beside = os.path.basename(path) + ".data"
            if os.path.exists(os.path.join(os.path.dirname(path), beside)):
                os.unlink(os.path.join(os.path.dirname(path), beside))
            onnx.save_model(model, path, save_as_external_data=True, location=beside,
                            size_threshold=APART)
        else:
            onnx.save_model(model, path)

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Get ready to run: by default an `onnxruntime.InferenceSession` on the CPU."""
        if initializer is None:
            try:
                import onnxruntime
            except ImportError:
                raise ModuleNotFoundError("running an ONNXProgram needs the package onnxruntime: "
                                          "pip install onnxruntime", name="onnxruntime") from None
            self._session = onnxruntime.InferenceSession(
                self.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
        else:
            self._session = initializer(self.model_proto.SerializeToString())

    def release(self) -> None:
        """Let go of what `initialize_inference_session` has made."""
        self._session = None

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        from .. import functional as ops
        from ._tracing import flat

        if self._session is None:
            self.initialize_inference_session()
        names = [one.name for one in self._session.get_inputs()]
        given = flat(args) + flat(kwargs)
        if len(given) != len(names):
            raise ValueError(f"the model takes {len(names)} tensors ({', '.join(names)}), "
                             f"but {len(given)} were given")
        fed = {n: t.numpy(force=True) for n, t in zip(names, given, strict=True)}
        return [ops.from_numpy(array) for array in self._session.run(None, fed)]

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        ports = [", ".join(one.name for one in some) for some in (graph.input, graph.output)]
        return (f"ONNXProgram({ports[0]} -> {ports[1]}: {len(graph.node)} nodes, "
                f"{len(graph.initializer)} initializers)")
