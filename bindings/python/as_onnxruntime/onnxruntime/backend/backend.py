"""ONNX's backend interface (onnx.backend.base.Backend) for sessions."""
import os
import unittest

import onnx
from onnx.backend.base import Backend

from onnxruntime import InferenceSession, SessionOptions, get_available_providers, get_device
from onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep, set_allowed

# Options that a caller of the backend may set: none of them writes files.
_ALLOWED_SESSION_OPTIONS = frozenset((
    "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "execution_mode", "execution_order",
    "graph_optimization_level", "inter_op_num_threads", "intra_op_num_threads", "log_severity_level",
    "log_verbosity_level", "logid", "use_deterministic_compute", "use_per_session_threads"))


class OnnxRuntimeBackend(Backend):
    """Prepares models as sessions. The environment variable ALLOW_RELEASED_ONNX_OPSET_ONLY=0 admits newer opsets."""

    allowReleasedOpsetsOnly = os.getenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", "1") == "1"  # noqa: N815

    @classmethod
    def is_compatible(cls, model, device=None, **kwargs):  # noqa: ARG003
        """Whether the model's opsets are released, and the device (None: any) is there."""
        if device is not None and not cls.supports_device(device):
            return False
        return not isinstance(model, onnx.ModelProto) or cls.is_opset_supported(model)[0]

    @classmethod
    def is_opset_supported(cls, model):
        """(whether all opsets of the model are released, why not)"""
        if cls.allowReleasedOpsetsOnly:
            released = {domain or "ai.onnx": version for domain, version in _newest_released_opsets().items()}
            for opset in model.opset_import:
                domain = opset.domain or "ai.onnx"
                if opset.version > released.get(domain, opset.version):
                    return False, (f"expected a released opset of {domain}, up to {released[domain]}, found "
                                   f"{opset.version}")
        return True, ""

    @classmethod
    def supports_device(cls, device):
        """Whether the build runs on "CPU" or "GPU" ("CUDA" is another name)."""
        return {"CUDA": "GPU"}.get(device, device) in get_device().split("-")

    @classmethod
    def prepare(cls, model, device=None, **kwargs):
        """A representation that runs `model`: a path, bytes, a ModelProto or a session. `kwargs`: SessionOptions."""
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        if not isinstance(model, (str, bytes)):
            onnx.checker.check_model(model)
            supported, reason = cls.is_opset_supported(model)
            if not supported:
                raise unittest.SkipTest(reason)
            model = model.SerializeToString()
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"expected the device '{get_device()}', found '{device}'")
        options = SessionOptions()
        set_allowed(options, kwargs, _ALLOWED_SESSION_OPTIONS)
        excluded = os.getenv("ORT_ONNX_BACKEND_EXCLUDE_PROVIDERS", "").split(",")
        providers = [name for name in get_available_providers() if name not in excluded]
        session = InferenceSession(model, options, providers)
        session.disable_fallback()  # errors of providers are what a test of them looks for
        return OnnxRuntimeBackendRep(session)

    @classmethod
    def run_model(cls, model, inputs, device=None, **kwargs):
        """The outputs of a model that is prepared for this run. `kwargs`: SessionOptions and RunOptions."""
        return cls.prepare(model, device, **kwargs).run(inputs, **kwargs)

    @classmethod
    def run_node(cls, node, inputs, device=None, outputs_info=None, **kwargs):  # noqa: ARG003
        raise NotImplementedError("the backend runs models; a node is run as a model with one node (run_model)")


def _newest_released_opsets():
    """{domain: version} of the newest release in the table of the installed onnx package."""
    newest = {}
    for row in onnx.helper.VERSION_TABLE:
        for domain, version in zip(("ai.onnx", "ai.onnx.ml", "ai.onnx.training"), row[2:]):
            newest[domain] = max(version, newest.get(domain, 0))
    return newest


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device
