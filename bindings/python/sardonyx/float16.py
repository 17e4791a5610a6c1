"""Models whose floats become half precision, which halves their size: convert_float_to_float16 for onnx.ModelProto,
with the arguments of onnxruntime.transformers.float16, and convert_float_to_bfloat16."""
import functools
import logging
import os

import ml_dtypes
import numpy as np

from sardonyx.opset_conversion import convert_opset

_FLOAT, _FLOAT16, _BFLOAT16 = 1, 10, 16  # TensorProto.DataType
_LARGE_WEIGHT, _LARGE_MODEL = 1 << 20, 2_000_000_000  # bytes: what a serialized proto may have is a little more
SMALLEST, LARGEST = 5.96e-08, 65504.0  # of half precision: the smallest positive number and the largest finite one
SMALLEST_BFLOAT16, LARGEST_BFLOAT16 = 9.183549615799121e-41, 3.3895313892515355e38
_CAST_OPSET, _BODY_OPSET = 13, 16  # the first opsets whose Cast, and whose If, Loop and Scan, have bfloat16

# Operators that stay on floats: some do not take half precision, others lose too much with it.
DEFAULT_OP_BLOCK_LIST = [
    "ArrayFeatureExtractor", "Binarizer", "CastMap", "CategoryMapper", "DictVectorizer", "FeatureVectorizer", "Imputer",
    "LabelEncoder", "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder", "RandomUniformLike",
    "SVMClassifier", "SVMRegressor", "Scaler", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble",
    "ZipMap", "NonMaxSuppression", "TopK", "RoiAlign", "Range", "CumSum", "Min", "Max", "Upsample",
]
# Inputs that are floats whatever the others are.
ALWAYS_FLOAT_INPUTS = {"Resize": [2], "GroupNorm": [1, 2], "SkipGroupNorm": [1, 2]}
# Operators with an attribute that says what they make, and those of them that make floats without it.
_TYPED = {"EyeLike", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
          "SequenceEmpty", "Bernoulli"}
_FLOAT_BY_DEFAULT = {"RandomNormal", "RandomUniform", "SequenceEmpty"}


def convert_np_to_float16(np_array, min_positive_val=SMALLEST, max_finite_val=LARGEST):
    """An array in half precision. Numbers that are too small or too large become the ends of the range given, with
    their sign; 0, infinity and NaN stay."""
    return _clipped(np_array, min_positive_val, max_finite_val).astype(np.float16)


def convert_np_to_bfloat16(np_array, min_positive_val=SMALLEST_BFLOAT16, max_finite_val=LARGEST_BFLOAT16):
    """The same in bfloat16 (of ml_dtypes)."""
    return _clipped(np_array, min_positive_val, max_finite_val).astype(ml_dtypes.bfloat16)


def _clipped(array, least, most):
    inside = np.isfinite(array) & (array != 0)
    return np.where(inside, np.copysign(np.clip(np.abs(array), least, most), array), array)


def convert_tensor_float_to_float16(tensor, min_positive_val=SMALLEST, max_finite_val=LARGEST):
    """Changes an onnx.TensorProto of floats to half precision and returns it; other tensors stay."""
    import onnx

    if not isinstance(tensor, onnx.TensorProto):
        raise ValueError(f"expected an onnx.TensorProto, found '{type(tensor).__name__}'")
    if tensor.data_type == _FLOAT:
        half = convert_np_to_float16(onnx.numpy_helper.to_array(tensor), min_positive_val, max_finite_val)
        _fill(tensor, half)
    return tensor


def _fill(tensor, array):
    import onnx

    made = onnx.numpy_helper.from_array(array, tensor.name)
    made.doc_string = tensor.doc_string
    tensor.CopyFrom(made)


def float_to_float16_max_diff(tensor, min_positive_val=SMALLEST, max_finite_val=LARGEST):
    """The largest difference that half precision makes in an onnx.TensorProto of floats."""
    import onnx

    if not isinstance(tensor, onnx.TensorProto) or tensor.data_type != _FLOAT:
        raise ValueError("expected an onnx.TensorProto of floats")
    data = onnx.numpy_helper.to_array(tensor)
    half = convert_np_to_float16(data, min_positive_val, max_finite_val)
    return np.amax(np.abs(data - half.astype(np.float32)))


def make_value_info_from_tensor(tensor):
    """The onnx.ValueInfoProto of an onnx.TensorProto."""
    import onnx

    return onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))


class InitializerTracker:
    """An initializer, and the nodes that read it as floats and in half precision."""

    def __init__(self, initializer):
        self.initializer, self.fp32_nodes, self.fp16_nodes = initializer, [], []

    def add_node(self, node, is_node_blocked):
        (self.fp32_nodes if is_node_blocked else self.fp16_nodes).append(node)


def convert_float_to_float16(model, min_positive_val=SMALLEST, max_finite_val=LARGEST, keep_io_types=False,
                             disable_shape_infer=False, op_block_list=None, node_block_list=None,
                             force_fp16_initializers=False, force_fp16_inputs=None,
                             use_bfloat16_as_blocked_nodes_dtype=False):
    """The onnx.ModelProto of a model (one itself, or a path) with floats in half precision.

    `keep_io_types`: inputs and outputs stay floats; a list names those that do. `op_block_list`, `node_block_list`:
    operators and names of nodes that stay on floats (or on bfloat16, with `use_bfloat16_as_blocked_nodes_dtype`);
    without the former, DEFAULT_OP_BLOCK_LIST. `force_fp16_initializers`: also of weights that only such nodes read.
    `force_fp16_inputs`: by operators, inputs of ALWAYS_FLOAT_INPUTS that are converted nevertheless.
    `disable_shape_infer`: the model tells the types of its values. Weights are limited to the range given.

    Errors: ValueError for a range that half precision does not have."""
    if min_positive_val < SMALLEST or max_finite_val > LARGEST:
        raise ValueError(f"expected a range within {SMALLEST} and {LARGEST}, which half precision has, found "
                         f"{min_positive_val} and {max_finite_val}")
    model = _with_types(_opened(model), disable_shape_infer)
    _fix_defaults(model.graph)
    conversion = _Conversion(model, (min_positive_val, max_finite_val), op_block_list, node_block_list,
                             force_fp16_initializers, force_fp16_inputs,
                             _BFLOAT16 if use_bfloat16_as_blocked_nodes_dtype else _FLOAT)
    conversion.convert_graph(model.graph, {}, keep_io_types)
    return model


def convert_float_to_bfloat16(model, min_positive_val=SMALLEST_BFLOAT16, max_finite_val=LARGEST_BFLOAT16,
                              keep_io_types=False, disable_shape_infer=False, op_block_list=None, node_block_list=None,
                              force_bf16_initializers=False):
    """The onnx.ModelProto of a model with floats in bfloat16, which has the range of floats and 8 bits of precision.

    The arguments are those of convert_float_to_float16. Nodes whose operator has no bfloat16 in the model's opset, or
    no kernel for it here, stay on floats between casts; from opset 22 on, most operators have it. Models older than
    opset 13, which brings the cast, are converted to it, and those with bodies of control flow to opset 16.

    Errors: ValueError for a range that bfloat16 does not have."""
    from sardonyx.bfloat16_operators import CONTROL_FLOW, Bfloat16Operators

    if min_positive_val < SMALLEST_BFLOAT16 or max_finite_val > LARGEST_BFLOAT16:
        raise ValueError(f"expected a range within {SMALLEST_BFLOAT16} and {LARGEST_BFLOAT16}, which bfloat16 has, "
                         f"found {min_positive_val} and {max_finite_val}")
    model = _opened(model)
    needed = _BODY_OPSET if any(node.op_type in CONTROL_FLOW for node in model.graph.node) else _CAST_OPSET
    if _opset(model) < needed:
        logging.warning("the model is of opset %d: it is converted to opset %d, whose operators have bfloat16",
                        _opset(model), needed)
        model = convert_opset(model, needed)
    model = _with_types(model, disable_shape_infer)
    _fix_defaults(model.graph)
    conversion = _Conversion(model, (min_positive_val, max_finite_val), op_block_list, node_block_list,
                             force_bf16_initializers, {}, _FLOAT, _BFLOAT16)
    conversion.takes = Bfloat16Operators({"": _opset(model), **{one.domain: one.version for one in model.opset_import
                                                                 if one.domain not in ("", "ai.onnx")}})
    conversion.convert_graph(model.graph, {}, keep_io_types)
    return model


def _opset(model):
    return max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=11)


def _fix_defaults(graph):
    """Weights that are inputs, too, become constants: some stay floats, others do not, and an input has one type."""
    weights = {one.name for one in graph.initializer if one.data_type == _FLOAT}
    kept = [one for one in graph.input if one.name not in weights]
    del graph.input[:]
    graph.input.extend(kept)


def _opened(model):
    """The onnx.ModelProto of a path, or of itself, without functions."""
    import onnx

    if isinstance(model, (str, os.PathLike)):
        model = onnx.load(os.fspath(model))
    if not isinstance(model, onnx.ModelProto):
        raise ValueError(f"expected an onnx.ModelProto or a path, found '{type(model).__name__}'")
    if model.functions:
        import onnx.inliner

        model = onnx.inliner.inline_local_functions(model)
    return model


def _with_types(model, are_known):
    """The onnx.ModelProto with the types of its values. Weights that together do not fit into a serialized proto stay
    in the one that is given; for their types alone they become inputs of the other."""
    from sardonyx.model import Model

    if are_known:
        return model
    large = [one for one in model.graph.initializer if len(one.raw_data) >= _LARGE_WEIGHT]
    if sum(len(one.raw_data) for one in large) < _LARGE_MODEL:
        known = Model(model)
        known.infer_types()
        return known.to_proto()
    import onnx

    small = onnx.ModelProto(ir_version=max(model.ir_version, 4), opset_import=model.opset_import)
    names, graph = {one.name for one in large}, small.graph
    for field in ("node", "input", "output", "value_info"):
        getattr(graph, field).extend(getattr(model.graph, field))
    graph.name = model.graph.name
    graph.initializer.extend(one for one in model.graph.initializer if one.name not in names)
    given = {value.name for value in graph.input}
    graph.input.extend(make_value_info_from_tensor(one) for one in large if one.name not in given)
    known = Model(small)
    known.infer_types()
    typed = known.to_proto().graph
    for field in ("node", "value_info", "output"):
        model.graph.ClearField(field)
        getattr(model.graph, field).extend(getattr(typed, field))
    return model


class _Conversion:
    """`half`: the type that floats become. `takes`: the Bfloat16Operators of the model, or None."""

    def __init__(self, model, ends, op_block_list, node_block_list, force_initializers, force_inputs, blocked_type,
                 half=_FLOAT16):
        self.force_initializers, self.blocked_type, self.half, self.takes = force_initializers, blocked_type, half, None
        convert = convert_np_to_float16 if half == _FLOAT16 else convert_np_to_bfloat16
        self.to_half = functools.partial(convert, min_positive_val=ends[0], max_finite_val=ends[1])
        self.suffix = "fp16" if half == _FLOAT16 else "bf16"
        self.operators = set(DEFAULT_OP_BLOCK_LIST if op_block_list is None else op_block_list)
        self.nodes, self.force_inputs = set(node_block_list or []), force_inputs or {}
        self.names = set(_names(model.graph))  # of values and nodes
        self.float_inputs = dict(ALWAYS_FLOAT_INPUTS)
        if _opset(model) <= 10:  # [X, scales]
            self.float_inputs["Resize"] = [1]

    def free_name(self, prefix):
        """`prefix`, with a number behind it where something has that name, as in models that were converted before."""
        name, number = prefix, 0
        while name in self.names:
            number += 1
            name = f"{prefix}_{number}"
        self.names.add(name)
        return name

    def is_blocked(self, node):
        listed = node.op_type in self.operators or node.name in self.nodes
        return listed or (self.takes is not None and self.takes.float_inputs(node) is None)

    def stays_float(self, node, index):
        """Whether an input is a float whatever the others are."""
        if self.takes is not None and index in (self.takes.float_inputs(node) or ()):
            return True
        return (index in self.float_inputs.get(node.op_type, ()) and
                index not in self.force_inputs.get(node.op_type, ()))

    def convert_graph(self, graph, outer, keep_io_types=False):
        """`outer`: what names of the graphs around mean: an InitializerTracker, or None for values of half
        precision."""
        scope = dict(outer)
        for value in (*graph.input, *graph.value_info, *graph.output):
            scope.pop(value.name, None)
            if _float_types(value):
                scope[value.name] = None
        trackers = [InitializerTracker(one) for one in graph.initializer if one.data_type == _FLOAT]
        scope.update({one.initializer.name: one for one in trackers})
        renamed, before, behind = self._keep_ends(graph, keep_io_types)
        nodes = list(graph.node)
        _rename(nodes, renamed)
        scope.update({new: scope.get(old) for old, new in renamed.items()})
        self._count_readers(nodes, scope)
        for tracker in trackers:
            if self.force_initializers or tracker.fp16_nodes or not tracker.fp32_nodes:
                self._convert_tensor(tracker.initializer)
        kept = {value.name for value in (*graph.input, *graph.output) if value.name in renamed}
        for value in (*graph.input, *graph.output, *graph.value_info):
            for kind in _float_types(value) if value.name not in kept else ():
                kind.elem_type = self.half
        made, casts = [], {}
        for node in nodes:
            made += self._convert_node(node, scope, casts)
        graph.ClearField("node")
        graph.node.extend([*before, *made, *behind])

    def _keep_ends(self, graph, keep_io_types):
        """(new names of inputs and outputs that stay floats, the nodes that cast from the former and to the latter)."""
        import onnx

        renamed, before, behind = {}, [], []
        if not keep_io_types:
            return renamed, before, behind
        weights = {one.name for one in graph.initializer if one.data_type == _FLOAT}
        for index, value in enumerate(graph.input):
            if self._is_kept(value, keep_io_types) and value.name not in weights:
                renamed[value.name] = self.free_name(f"graph_input_cast_{index}")
                before.append(onnx.helper.make_node("Cast", [value.name], [renamed[value.name]], to=self.half,
                                                    name=self.free_name(f"graph_input_cast{index}")))
        for index, value in enumerate(graph.output):
            if self._is_kept(value, keep_io_types):
                if value.name not in renamed:
                    renamed[value.name] = self.free_name(f"graph_output_cast_{index}")
                behind.append(onnx.helper.make_node("Cast", [renamed[value.name]], [value.name], to=_FLOAT,
                                                    name=self.free_name(f"graph_output_cast{index}")))
        for value in [*graph.input, *graph.output]:
            if value.name in renamed:
                new = graph.value_info.add()
                new.CopyFrom(value)
                new.name = renamed[value.name]
        return renamed, before, behind

    @staticmethod
    def _is_kept(value, keep_io_types):
        named = not isinstance(keep_io_types, (list, tuple, set)) or value.name in keep_io_types
        return named and value.type.tensor_type.elem_type == _FLOAT

    def _count_readers(self, nodes, scope):
        """Tells weights which nodes, those of bodies among them, read them."""
        for node in nodes:
            for index, name in enumerate(node.input):
                if isinstance(scope.get(name), InitializerTracker):
                    scope[name].add_node(node, self.is_blocked(node) or self.stays_float(node, index))
            for body in _bodies(node):
                own = {one.name for one in body.initializer} | {one.name for one in body.input}
                self._count_readers(body.node, {name: one for name, one in scope.items() if name not in own})

    def _convert_node(self, node, scope, casts):
        """The node, between casts where it reads or makes floats."""
        is_blocked = self.is_blocked(node)
        if not is_blocked:
            self._convert_attributes(node, scope)
        before = []
        for index, name in enumerate(node.input):
            if (is_blocked or self.stays_float(node, index)) and self._is_half(name, scope):
                node.input[index] = self._cast(name, casts, before, self.blocked_type if is_blocked else _FLOAT)
        return [*before, node, *(self._casts_behind(node, scope) if is_blocked else ())]

    def _cast(self, name, casts, before, kind):
        """The name of a value as floats; the node that makes it stands before its first reader."""
        import onnx

        if (name, kind) not in casts:
            casts[name, kind] = self.free_name(f"{name}_cast_to_fp32")
            before.append(onnx.helper.make_node("Cast", [name], [casts[name, kind]], to=kind,
                                                name=self.free_name(f"{name}_cast_to_fp32_node")))
        return casts[name, kind]

    def _is_half(self, name, scope):
        """Whether a name means a value that was a float and is in half precision now."""
        if name not in scope:
            return False
        tracker = scope[name]
        return tracker is None or tracker.initializer.data_type == self.half

    def _casts_behind(self, node, scope):
        import onnx

        for index, name in enumerate(node.output):
            if name in scope and scope[name] is None:
                node.output[index] = self.free_name(f"{name}_cast_to_{self.suffix}")
                yield onnx.helper.make_node("Cast", [node.output[index]], [name], to=self.half,
                                            name=self.free_name(f"{name}_cast_to_{self.suffix}_node"))

    def _convert_tensor(self, tensor):
        import onnx

        if tensor.data_type == _FLOAT:
            _fill(tensor, self.to_half(onnx.numpy_helper.to_array(tensor)))

    def _convert_attributes(self, node, scope):
        import onnx

        known = {attribute.name: attribute for attribute in node.attribute}
        named = {"Cast": "to", **dict.fromkeys(_TYPED, "dtype")}.get(node.op_type)
        if named in known and known[named].i == _FLOAT:
            known[named].i = self.half
        elif named == "dtype" and named not in known and node.op_type in _FLOAT_BY_DEFAULT:
            node.attribute.append(onnx.helper.make_attribute("dtype", self.half))
        if node.op_type == "ConstantOfShape" and "value" not in known and node.domain in ("", "ai.onnx"):
            zero = onnx.helper.make_tensor("value", self.half, [1], [0])
            node.attribute.append(onnx.helper.make_attribute("value", zero))
        if node.op_type == "Constant":
            for name in ("value_float", "value_floats"):
                if name in known:
                    value = np.asarray(onnx.helper.get_attribute_value(known[name]), np.float32)
                    half = onnx.numpy_helper.from_array(self.to_half(value))
                    known[name].CopyFrom(onnx.helper.make_attribute("value", half))
        if node.op_type in self.float_inputs and node.op_type not in self.force_inputs:
            return
        for attribute in node.attribute:
            for tensor in (*([attribute.t] if attribute.HasField("t") else ()), *attribute.tensors):
                self._convert_tensor(tensor)
        for body in _bodies(node):
            self.convert_graph(body, scope)


def _bodies(node):
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _names(graph):
    """The names of values and nodes of a graph and its bodies."""
    yield from (value.name for value in (*graph.input, *graph.initializer))
    for node in graph.node:
        yield node.name
        yield from node.output
        for body in _bodies(node):
            yield from _names(body)


def _rename(nodes, renamed):
    """Gives values other names, also where bodies read them."""
    for node in nodes if renamed else ():
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                names[index] = renamed.get(name, name)
        for body in _bodies(node):
            own = {one.name for one in (*body.input, *body.initializer)} | {
                name for inner in body.node for name in inner.output}
            outer = {old: new for old, new in renamed.items() if old not in own}
            _rename(body.node, outer)
            for value in body.output:
                value.name = outer.get(value.name, value.name)


def _float_types(value):
    """The tensor types of a value that are floats: its own, or that of a sequence's or an optional's elements."""
    kind = value.type
    for name in ("optional_type", "sequence_type"):
        if kind.HasField(name):
            kind = getattr(kind, name).elem_type
    if kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
    return [kind.tensor_type] if kind.HasField("tensor_type") and kind.tensor_type.elem_type == _FLOAT else []
