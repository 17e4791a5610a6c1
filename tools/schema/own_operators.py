"""Operators that the optimizer makes and saved models contain: those of ai.sardonyx, and those on images channels last.

docs/saved_models.md describes them. After a change that older versions of the library would misunderstand, raise
kOwnOpset (src/ops/own_domain.h).
"""
import onnx.defs
from onnx.defs import OpSchema
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

DOMAIN, LAST, MICROSOFT = "ai.sardonyx", "com.ms.internal.nhwc", "com.microsoft"
REAL = ["tensor(float)", "tensor(float16)", "tensor(bfloat16)"]
BYTES = ["tensor(int8)", "tensor(uint8)"]
INT, INTS, FLOAT, FLOATS, STRING, STRINGS = (getattr(OpSchema.AttrType, name)
                                             for name in ("INT", "INTS", "FLOAT", "FLOATS", "STRING", "STRINGS"))


def one(name, type_str):
    return OpSchema.FormalParameter(name, type_str)


def optional(name, type_str):
    return OpSchema.FormalParameter(name, type_str, param_option=OpSchema.FormalParameterOption.Optional)


def mixed(name, type_str):
    """One or more inputs of different types."""
    return OpSchema.FormalParameter(name, type_str, param_option=OpSchema.FormalParameterOption.Variadic,
                                    is_homogeneous=False)


def attribute(name, kind, default=None, required=False):
    if default is None:
        return OpSchema.Attribute(name, kind, required=required)
    return OpSchema.Attribute(name, onnx.helper.make_attribute(name, default))


def operator(name, inputs, outputs, types, attributes):
    return OpSchema(name, DOMAIN, 1, inputs=inputs, outputs=outputs, attributes=attributes,
                    type_constraints=[(parameter, allowed, "") for parameter, allowed in types.items()])


def fused_elementwise():
    return operator(
        "FusedElementwise", [mixed("inputs", "T")], [one("Y", "U")], {"T": REAL + BYTES, "U": REAL + BYTES},
        [attribute("steps", STRINGS, required=True), attribute("operands", INTS, required=True),
         attribute("parameters", FLOATS, required=True), attribute("input_scales", FLOATS),
         attribute("input_zeros", FLOATS), attribute("to", INT), attribute("output_scale", FLOAT),
         attribute("output_zero", FLOAT)])


def fused_matmul():
    flags = [attribute(name, INT, 0) for name in ("transA", "transB", "transBatchA", "transBatchB")]
    return operator(
        "FusedMatMul", [one("A", "T"), one("B", "T"), optional("bias", "T"), optional("residual", "T")],
        [one("Y", "T")], {"T": REAL},
        [*flags, attribute("alpha", FLOAT, 1.0), attribute("activation", STRING), attribute("activation_alpha", FLOAT),
         attribute("activation_beta", FLOAT), attribute("activation_gamma", FLOAT)])


def attributes_of(schema):
    return [OpSchema.Attribute(name, a.default_value) if a.default_value.type else
            OpSchema.Attribute(name, a.type, required=a.required) for name, a in schema.attributes.items()]


def expanded_conv():
    activations = [attribute(f"{prefix}activation{suffix}", kind) for prefix in ("", "wide_")
                   for suffix, kind in (("", STRING), ("_params", FLOATS))]
    return operator(
        "ExpandedConv",
        [one("X", "T"), one("wide_W", "T"), optional("wide_B", "T"), one("W", "T"), optional("B", "T")],
        [one("Y", "T")], {"T": ["tensor(float)"]}, [*attributes_of(onnx.defs.get_schema("Conv", 11)), *activations])


def conv_reduce_max():
    return operator(
        "ConvReduceMax", [one("X", "T"), one("W", "T"), optional("B", "T")], [one("Y", "T")], {"T": ["tensor(float)"]},
        [attribute("position_axes", INT, 1), attribute("keepdims", INT, 1), attribute("activation", STRING),
         attribute("activation_params", FLOATS)])


def lookup8():
    return operator("Lookup8", [one("X", "T"), one("table", "U")], [one("Y", "U")], {"T": BYTES, "U": BYTES}, [])


def qlinear_conv_add():
    scale = "tensor(float)"
    return operator(
        "QLinearConvAdd",
        [one("x", "X"), one("x_scale", scale), one("x_zero_point", "X"), one("w", "W"), one("w_scale", scale),
         one("w_zero_point", "W"), one("y_scale", scale), one("y_zero_point", "Y"), optional("B", "tensor(int32)"),
         one("Z", "Y"), one("Z_scale", scale), optional("Z_zero_point", "Y"), one("C_scale", scale),
         optional("C_zero_point", "Y")],
        [one("C", "Y")], {"X": BYTES, "W": BYTES, "Y": BYTES},
        [*attributes_of(onnx.defs.get_schema("QLinearConv", 10)), attribute("z_first", INT, 0)])


def qlinear_matmul():
    scale = "tensor(float)"
    return operator(
        "QLinearMatMul",
        [one("a", "A"), one("a_scale", scale), one("a_zero_point", "A"), one("b", "B"), one("b_scale", scale),
         one("b_zero_point", "B"), one("y_scale", scale), one("y_zero_point", "Y")],
        [one("y", "Y")], {"A": BYTES, "B": BYTES, "Y": BYTES}, [attribute("transB", INT, 0)])


def sink_attention():
    return operator(
        "SinkAttention",
        [one("Q", "T"), one("K", "T"), one("V", "T"), optional("attn_mask", "U"), optional("past_key", "T"),
         optional("past_value", "T"), one("sinks", "T")],
        [one("Y", "T"), optional("present_key", "T"), optional("present_value", "T")],
        {"T": REAL, "U": [*REAL, "tensor(bool)"]},
        [attribute("q_num_heads", INT), attribute("kv_num_heads", INT), attribute("scale", FLOAT),
         attribute("softcap", FLOAT, 0.0)])


def cached_attention():
    return operator(
        "CachedAttention",
        [one("Q", "T"), one("K", "T"), one("V", "T"), optional("attn_mask", "U"), one("past_key", "T_CACHE"),
         one("past_value", "T_CACHE")],
        [one("Y", "T"), one("present_key", "T_CACHE"), one("present_value", "T_CACHE")],
        {"T": REAL, "U": [*REAL, "tensor(bool)"], "T_CACHE": REAL},
        [attribute("q_num_heads", INT), attribute("kv_num_heads", INT), attribute("scale", FLOAT),
         attribute("softcap", FLOAT, 0.0), attribute("cache_axes", INTS)])


class Elsewhere:
    """The schema of an operator in another domain, version 1 there, such as that of images channels last."""

    def __init__(self, base, attributes=(), domain=LAST):
        self.base, self.domain, self.since_version, self.deprecated = base, domain, 1, False
        self.attributes = dict(base.attributes) | {a.name: a for a in attributes}

    def __getattr__(self, name):
        return getattr(self.base, name)


def of_runtime(domain, name):
    return next(s for s in runtime.get_all_operator_schema() if (s.domain, s.name) == (domain, name))


def channels_last():
    mixed_layouts = [attribute(f"channels_first_{side}", INT, 0) for side in ("input", "output")]
    fused_conv = of_runtime(MICROSOFT, "FusedConv")
    convolutions = [*(onnx.defs.get_schema(name) for name in ("Conv", "ConvInteger", "ConvTranspose", "QLinearConv")),
                    fused_conv]
    others = ["AveragePool", "DepthToSpace", "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization",
              "InstanceNormalization", "MaxPool", "SpaceToDepth"]
    return [*(Elsewhere(base, mixed_layouts) for base in convolutions),
            *(Elsewhere(onnx.defs.get_schema(name)) for name in others)]


def schemas():
    # Older files have it in this domain.
    simplified = Elsewhere(of_runtime("", "SimplifiedLayerNormalization"), domain=MICROSOFT)
    own = [conv_reduce_max(), expanded_conv(), fused_elementwise(), fused_matmul(), lookup8(), qlinear_conv_add(),
           cached_attention(), qlinear_matmul(), sink_attention()]
    return [simplified, *own, *channels_last()]
