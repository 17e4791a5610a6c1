"""Weights of MatMul in blocks: rounding, k-quant, GPTQ. Blocks lie along the rows of a matrix [K, N]; its groups are
rows of [N * K / size, size]."""
import numpy as np

import sardonyx
from sardonyx.quantization import weight_only_math
from sardonyx.quantization.calibration_data import CalibrationDataReader
from sardonyx.quantization.neural_compressor.onnx_model import ONNXModel
from sardonyx.quantization.neural_compressor.util import simple_progress_bar, to_numpy  # noqa: F401
from sardonyx.quantization.weight_kernels import pack
from sardonyx.quantization.weight_only_config import (
    GPTQWeightOnlyQuantConfig,
    KQuantWeightOnlyQuantConfig,
    RTNWeightOnlyQuantConfig,
)

_IN_BLOCKS = (4, 8)  # bits for which MatMulNBits is made; with others the weight stays floats, of fewer values


def quant_tensor(data, num_bits=4, group_size=32, scheme="asym", dtype="int", ratio=1.0):
    """(numbers, scales, zero points) of groups, all as floats but zero points of "uint". `scheme`: "asym", or "sym"
    around 0. `dtype`: "uint" has zero points of numbers from 0 on. `ratio`: the part of ranges that is kept."""
    groups = np.reshape(data, (-1, group_size))
    is_unsigned = scheme == "asym" or dtype == "uint"
    lowest, highest = (0, 2**num_bits - 1) if is_unsigned else (-(2 ** (num_bits - 1)), 2 ** (num_bits - 1) - 1)
    low, high = (part(groups, 1, keepdims=True) * ratio for part in (np.min, np.max))
    if scheme == "sym":
        span = np.maximum(np.abs(low), np.abs(high)) * 2.0
        scale = np.where(span > 0, span.astype(np.float64) / (highest - lowest), 1.0)
        zero_point = np.zeros(scale.shape) if dtype == "int" else np.full(scale.shape, 1 << (num_bits - 1), np.uint8)
    else:
        scale = np.where(low != high, (high - low).astype(np.float64) / (highest - lowest), 1.0)
        zero_point = np.round(-low / scale)
        if dtype != "int":
            zero_point = np.clip(zero_point, 0, highest).astype(np.uint8)
    return np.clip(np.round(groups / scale + zero_point), lowest, highest), scale, zero_point


def quant_tensor_k_quant_cpu(data, num_bits=4, group_size=32):
    """(numbers, scales, zero points) of smallest squared error: see weight_only_math.k_quant."""
    return weight_only_math.k_quant(np.reshape(data, (-1, group_size)), num_bits)


def quant_tensor_k_quant_cuda(data, num_bits=4, group_size=32):
    """The same: ONNX Runtime's function of this name falls back to the CPU, too, where there is no GPU."""
    return quant_tensor_k_quant_cpu(data, num_bits, group_size)


def qdq_tensor(data, num_bits=4, group_size=32, scheme="asym", dtype="int", ratio=1.0):
    """An array with each number at one of its group's values."""
    numbers, scale, zero_point = quant_tensor(data, num_bits, group_size, scheme, dtype, ratio)
    return np.reshape(scale * (numbers - zero_point), np.shape(data))


def pad_tensor(weight, group_size, k_blocks):
    """A matrix [K, N] with zeros below up to `k_blocks` blocks; as it is for a `group_size` of -1."""
    missing = 0 if group_size == -1 else max(k_blocks * group_size - weight.shape[0], 0)
    return np.pad(weight, ((0, missing), (0, 0)))


def get_weight_scale(weight, group_size):
    """The mean magnitude of each column of [N, K], each group measured by its largest."""
    groups = weight if group_size == -1 else np.reshape(weight, (-1, group_size))
    return np.mean(np.reshape(np.abs(groups) / np.abs(groups).max(1, keepdims=True), weight.shape), axis=0)


def gptq(W, H, num_bits=4, group_size=32, scheme="asym", blocksize=128, percdamp=0.01,  # noqa: N803
         actorder=False, mse=False, perchannel=True):
    """A weight [K, N] with each number at one of its group's values, by GPTQ; H [K, K] is X^T X of the inputs."""
    rounding = weight_only_math.Gptq(num_bits, group_size, scheme == "sym", percdamp, blocksize, actorder, mse,
                                     perchannel)
    return rounding.rounded(np.array(W), np.array(H))


def make_matmul_weight_only_node(node, weight_shape, num_bits, group_size, k_blocks, q_weight, scale, zero_point,
                                 accuracy_level=0):
    """(the MatMulNBits, its new initializers) for a MatMul, all as protos, of what quant_tensor gives: zero points can
    be None."""
    import onnx

    if num_bits not in _IN_BLOCKS:
        raise ValueError(f"node '{node.name}': expected 4 or 8 bits for MatMulNBits, found {num_bits}")
    rows, columns = weight_shape
    weight = node.input[1]
    arrays = {f"{weight}_scale": np.reshape(scale, (columns, k_blocks))}
    if zero_point is not None:
        zeros = np.reshape(zero_point, (columns, k_blocks)).astype(np.uint8)
        arrays[f"{weight}_zp"] = pack(zeros, num_bits, 1 << (num_bits - 1))
    quantized = f"{weight}_Q{num_bits}G{group_size}"
    numbers = np.reshape(q_weight, (columns, k_blocks, group_size)).astype(np.uint8)
    attributes = {"K": rows, "N": columns, "bits": num_bits, "block_size": group_size}
    if accuracy_level > 0:
        attributes["accuracy_level"] = accuracy_level
    made = onnx.helper.make_node("MatMulNBits", [node.input[0], quantized, *arrays], node.output,
                                 f"{node.name}_Q{num_bits}", domain="com.microsoft", **attributes)
    arrays[quantized] = pack(numbers, num_bits)
    return made, [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]


def _settings(weight_config, num_bits, group_size, scheme):
    """({name: settings} of nodes that differ, the names of nodes that stay floats)"""
    own = {name: one for name, one in weight_config.items() if isinstance(one, dict)}
    usual = {"bits": num_bits, "group_size": group_size, "scheme": scheme}
    return {name: {**usual, **one} for name, one in own.items()}, [
        name for name, one in weight_config.items() if one == "fp32"]


def _quantize(made, config, own, excluded, num_bits, group_size, scheme, accuracy_level):
    """Quantizes a model by one of the algorithms; nodes whose bits MatMulNBits does not have get weights of fewer
    values."""
    from sardonyx.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer  # which has these functions, too

    usual = {"bits": num_bits, "group_size": group_size, "scheme": scheme}
    config.customized_weight_config, rounded = {}, []
    for node in made.model.graph.node:
        weight = made.get_initializer(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None or len(weight.dims) != 2 or node.name in excluded:
            continue
        chosen = dict(own.get(node.name, usual))
        if chosen["group_size"] == -1:
            chosen["group_size"] = weight.dims[0]
        if chosen["bits"] in _IN_BLOCKS:
            config.customized_weight_config[node.name] = chosen
        else:
            rounded.append((node, weight, chosen))
    for node, weight, chosen in rounded:
        _keep_as_floats(made, node, weight, chosen, getattr(config, "ratios", {}))
    quantizer = MatMulNBitsQuantizer(made.model, 4, 32, scheme == "sym", accuracy_level or None,
                                     [*excluded, *(node.name for node, _, _ in rounded)], algo_config=config)
    quantizer.process()
    made.model.CopyFrom(quantizer.model.model)
    return made


def _keep_as_floats(made, node, weight, chosen, ratios):
    import onnx

    data, size = onnx.numpy_helper.to_array(weight), chosen["group_size"]
    padded = pad_tensor(data, size, -(-data.shape[0] // size))
    values = qdq_tensor(padded.T, chosen["bits"], size, chosen["scheme"], "int", ratios.get(node.input[1], 1))
    name = f"{node.input[1]}_Q{chosen['bits']}G{size}"
    array = np.ascontiguousarray(np.reshape(values, padded.T.shape).T[:data.shape[0]].astype(data.dtype))
    made.add_initializer(onnx.numpy_helper.from_array(array, name))
    node.input[1] = name


def rtn_quantize(
    model,
    weight_config={},  # noqa: B006
    num_bits=4,
    group_size=32,
    scheme="asym",
    ratios={},  # noqa: B006
    accuracy_level=0,
    providers=["CPUExecutionProvider"],  # noqa: B006, ARG001
    algorithm="k_quant",
):
    """An ONNXModel whose products have weights in blocks. `model`: an onnx.ModelProto, a path or an ONNXModel.
    `weight_config`: by names of nodes "fp32", or bits, group_size (-1: all of K) and scheme. `algorithm`: "k_quant", or
    rounding with `ratios` (the part of ranges that is kept) by names of weights."""
    own, excluded = _settings(weight_config, num_bits, group_size, scheme)
    config = KQuantWeightOnlyQuantConfig() if algorithm == "k_quant" else RTNWeightOnlyQuantConfig(dict(ratios))
    return _quantize(ONNXModel(model), config, own, excluded, num_bits, group_size, scheme, accuracy_level)


def prepare_inputs(model, n_samples, dataloader, providers):
    """(inputs by name of each batch, SessionOptions) for an ONNXModel: of pairs whose first part is a dictionary, an
    array or a list in the order of the model's inputs. `n_samples`: how many samples are taken, -1 for all."""
    options = sardonyx.SessionOptions()
    session = sardonyx.InferenceSession(model.model.SerializeToString(), options, providers=providers)
    names, made = [value.name for value in session.get_inputs()], []
    for index, (values, *_) in enumerate(dataloader):
        if n_samples != -1 and (index + 1) * dataloader.batch_size > n_samples:
            break
        if not isinstance(values, dict):
            values = dict(zip(names, [values] if len(names) == 1 and not isinstance(values, (list, tuple)) else values,
                              strict=True))
        made.append({name: to_numpy(value) for name, value in values.items()})
    return made, options


class _Batches(CalibrationDataReader):
    def __init__(self, batches):
        self.batches = batches

    def get_next(self):
        return self.batches.pop(0) if self.batches else None


def gptq_quantize(
    model,
    dataloader,
    weight_config={},  # noqa: B006
    num_bits=4,
    group_size=32,
    scheme="asym",
    n_samples=128,
    percdamp=0.01,
    blocksize=128,
    actorder=False,
    mse=False,
    perchannel=True,
    accuracy_level=0,
    providers=["CPUExecutionProvider"],  # noqa: B006
):
    """The same by GPTQ, on data: pairs as prepare_inputs takes them. The others are those of
    GPTQWeightOnlyQuantConfig."""
    made = ONNXModel(model)
    batches, _ = prepare_inputs(made, n_samples, dataloader, providers)
    own, excluded = _settings(weight_config, num_bits, group_size, scheme)
    excluded += [name for name, one in own.items() if one.get("algorithm", "GPTQ") != "GPTQ"]
    config = GPTQWeightOnlyQuantConfig(_Batches(batches), percdamp, blocksize, actorder, mse, perchannel)
    return _quantize(made, config, own, excluded, num_bits, group_size, scheme, accuracy_level)
