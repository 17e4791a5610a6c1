"""Lets torch.onnx.export write operators of com.microsoft for functions of PyTorch that ONNX spells in many nodes, or
not at all. PyTorch is needed when `register` is called."""

_OPSET = 1
_GELU_OPSETS = range(9, 21)  # exporters look for Gelu by the opset that they write
_GRID_MODES, _PADDING_MODES = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
_registered = set()


def _exporter():
    try:
        import torch
        import torch.onnx
    except ModuleNotFoundError as failure:
        raise ModuleNotFoundError("exporting from PyTorch needs the package torch, which is not installed",
                                  name="torch") from failure
    return torch.onnx


def _constant(value, kind):
    return _exporter().symbolic_helper._maybe_get_const(value, kind)


def _grid_sampler(g, input, grid, mode, padding_mode, align_corners):
    return g.op("com.microsoft::GridSample", input, grid, mode_s=_GRID_MODES[_constant(mode, "i")],
                padding_mode_s=_PADDING_MODES[_constant(padding_mode, "i")],
                align_corners_i=int(_constant(align_corners, "b")))


def _inverse(g, self):
    return g.op("com.microsoft::Inverse", self).setType(self.type())


def _gelu(g, self, approximate="none"):
    if not isinstance(approximate, str):
        approximate = _constant(approximate, "s")
    if approximate != "none":
        return _exporter().symbolic_opset9.gelu(g, self, approximate)
    return g.op("com.microsoft::Gelu", self).setType(self.type())


def _triu(g, self, diagonal):
    return g.op("com.microsoft::Trilu", self, diagonal, upper_i=1).setType(self.type())


def _tril(g, self, diagonal):
    return g.op("com.microsoft::Trilu", self, diagonal, upper_i=0).setType(self.type())


def _dynamic_time_warping(g, self):
    return g.op("com.microsoft::DynamicTimeWarping", self)


def _unfold_tensor(g, self, dim, size, step):
    dim, size, step = (int(_constant(value, "i")) for value in (dim, size, step))
    made = g.op("com.microsoft::UnfoldTensor", self, dim_i=dim, size_i=size, step_i=step)
    return made.setType(self.type().with_sizes([None, None, None, None, size]))


_RULES = {
    "aten::grid_sampler": _grid_sampler, "aten::inverse": _inverse, "aten::linalg_inv": _inverse, "aten::gelu": _gelu,
    "aten::triu": _triu, "aten::tril": _tril, "onnxruntime::DynamicTimeWarping": _dynamic_time_warping,
    "onnxruntime::UnfoldTensor": _unfold_tensor,
}


def register():
    """Tells the exporter of PyTorch the operators; to be called before torch.onnx.export."""
    exporter = _exporter()
    for name, rule in _RULES.items():
        for opset in (_OPSET, *(_GELU_OPSETS if name == "aten::gelu" else ())):
            exporter.register_custom_op_symbolic(name, rule, opset)
            _registered.add((name, opset))


def unregister():
    """Takes back what `register` did."""
    exporter = _exporter()
    while _registered:
        exporter.unregister_custom_op_symbolic(*_registered.pop())
