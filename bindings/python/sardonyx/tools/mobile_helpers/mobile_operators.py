"""Operators that ONNX Runtime 1.31's providers for phones take, with what they ask of a node beyond its operator. Names
without a domain are ONNX's own."""

_2D, _CONSTANT = "2D only.", "constant weight and bias."
_SCALES = "constant scales and zero points."

NNAPI = {
    **dict.fromkeys((
        "Abs Add BatchNormalization Cast Clip Concat Div Elu Exp Flatten Floor Identity LeakyRelu Log LRN MatMul Max "
        "Min Mul Neg Pow PRelu ReduceMean Relu Reshape Sigmoid Sin Slice Softmax Sqrt Sub Tanh Transpose").split(), ""),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "Resize"), _2D),
    "Conv": f"{_2D} {_CONSTANT}", "QLinearConv": f"{_2D} {_CONSTANT} {_SCALES}",
    **dict.fromkeys(("DequantizeLinear", "QLinearMatMul", "QuantizeLinear", "com.microsoft:QLinearAdd",
                     "com.microsoft:QLinearSigmoid"), _SCALES),
    "com.microsoft:QLinearAveragePool": f"{_2D} {_SCALES}",
    "DepthToSpace": "mode DCR only.", "Gather": "constant indices, unless they are int32.",
    "Gemm": "constant B, or transB = 1.",
    "Pad": "mode constant only; constant pads and value; no negative pads.",
    "Split": "parts of equal size; constant split.",
    **dict.fromkeys(("Squeeze", "Unsqueeze"), "constant axes."),
}

COREML_NEURAL_NETWORK = {
    **dict.fromkeys((
        "Add ArgMax BatchNormalization Cast Clip Concat Div Flatten LeakyRelu LRN Mul Reciprocal Relu Reshape Sigmoid "
        "Softmax Squeeze Sqrt Sub Tanh Transpose").split(), ""),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"), _2D),
    "Conv": f"1D and 2D only. {_CONSTANT}", "DepthToSpace": "mode DCR only.", "Gather": "no scalar as indices.",
    **dict.fromkeys(("Gemm", "MatMul"), "constant B."),
    "Pad": "mode constant only, of the last two dimensions; constant pads, value and axes.",
    "Pow": "both inputs float32.", "PRelu": "constant slope of shape [C, 1, 1] or with one element.",
    "Resize": "4D input; coordinate_transformation_mode asymmetric, mode linear or nearest, nearest_mode floor, "
              "exclude_outside 0; constant scales or sizes.",
    "Shape": "no start other than 0, and no end.", "Slice": "constant starts, ends, axes and steps; not empty.",
    "Split": "constant split.",
}

# ArgMax is among them, which ONNX Runtime's own list spells Argmax and so does not find.
COREML_ML_PROGRAM = {
    **dict.fromkeys((
        "Add ArgMax Cast Ceil Clip Concat Cos Div Elu Erf Exp Gelu GroupNormalization HardSigmoid Identity "
        "InstanceNormalization LayerNormalization LeakyRelu Max Mul PRelu ReduceMax ReduceMean ReduceSum Relu Reshape "
        "Round Shape Sigmoid Sin Softmax Softplus Sqrt Squeeze Sub Tanh Transpose Unsqueeze").split(), ""),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"), _2D),
    "And": "both inputs bool.", "Conv": "1D and 2D only; constant bias.",
    "ConvTranspose": f"{_CONSTANT} no SAME_UPPER or SAME_LOWER; no kernel_shape or output_padding of its own; no "
                     "output_shape.",
    "DepthToSpace": "mode CRD needs an input of fixed shape.", "GatherND": "batch_dims 0.", "Gemm": "constant B.",
    "GridSample": "4D input; mode linear, or padding_mode zeros; not linear with reflection and align_corners 0.",
    "MatMul": "no transpose and no factors.", "Pow": "both inputs float32.", "Reciprocal": "adds an epsilon of 1e-4.",
    "Resize": "not every combination of attributes.", "Slice": "constant starts, ends, axes and steps.",
    "Split": "constant split.", "Tile": "input of rank 5 at most.", "Where": "X and Y of float or float16.",
    "com.microsoft:QuickGelu": "as mul, sigmoid, mul.",
    "com.microsoft:FusedConv": "as conv and an activation: Relu, Sigmoid, Tanh, LeakyRelu, Clip, HardSigmoid.",
}
