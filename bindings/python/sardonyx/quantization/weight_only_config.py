"""How weights alone are quantized: the algorithms and their arguments."""
from sardonyx.quantization.quant_types import QuantFormat


class WeightOnlyQuantConfig:
    """What all algorithms share. `op_types_to_quantize`: MatMul (the default), Gather. `quant_axes`: pairs of an
    operator and the axis along which blocks lie: 0 for MatMul, 1 for Gather. `customized_weight_config`: dictionaries
    with bits, group_size and scheme ("sym", "asym") by the names of nodes."""

    def __init__(self, algorithm: str, quant_format: QuantFormat, op_types_to_quantize: tuple[str, ...] | None = None,
                 quant_axes: tuple[tuple[str, int], ...] | None = None, customized_weight_config: dict | None = None):
        self.algorithm, self.quant_format = algorithm, quant_format
        self.op_types_to_quantize = set(op_types_to_quantize) if op_types_to_quantize else {"MatMul"}
        self.quant_axes = dict(quant_axes) if quant_axes else {"MatMul": 0, "Gather": 1}
        self.customized_weight_config = customized_weight_config


def _only_operators(name, quant_format):
    if quant_format != QuantFormat.QOperator:
        raise NotImplementedError(f"{name} writes MatMulNBits: expected QuantFormat.QOperator, found {quant_format}")


class RTNWeightOnlyQuantConfig(WeightOnlyQuantConfig):
    """To the nearest number, with float64 scales. `ratios`: by the names of weights, the part of the range that is
    kept."""

    def __init__(self, ratios=None, quant_format=QuantFormat.QOperator,
                 op_types_to_quantize: tuple[str, ...] | None = None, customized_weight_config: dict | None = None):
        _only_operators("RTN", quant_format)
        super().__init__("RTN", quant_format, op_types_to_quantize, customized_weight_config=customized_weight_config)
        self.ratios = ratios or {}


class KQuantWeightOnlyQuantConfig(WeightOnlyQuantConfig):
    """Scale and offset of each block of smallest weighted error, as llama.cpp's k-quants look for them."""

    def __init__(self, ratios=None, quant_format=QuantFormat.QOperator,
                 op_types_to_quantize: tuple[str, ...] | None = None, customized_weight_config: dict | None = None):
        _only_operators("k-quant", quant_format)
        super().__init__("k_quant", quant_format, op_types_to_quantize,
                         customized_weight_config=customized_weight_config)
        self.ratios = ratios or {}


class GPTQWeightOnlyQuantConfig(WeightOnlyQuantConfig):
    """GPTQ (Frantar et al. 2022): what rounding one row costs is made up for by the rows behind, on the data given.

    `percdamp`: part of the mean of the Hessian's diagonal that is added to it. `block_size`: rows between two updates
    of all that follow. `actorder`: rows of large activations first. `mse`: ranges of smallest error. `perchannel`: each
    column has a range of its own."""

    def __init__(self, calibration_data_reader=None, percdamp=0.01, block_size=128, actorder=False, mse=False,
                 perchannel=True, quant_format=QuantFormat.QOperator,
                 op_types_to_quantize: tuple[str, ...] | None = None):
        _only_operators("GPTQ", quant_format)
        super().__init__("GPTQ", quant_format, op_types_to_quantize)
        self.calibration_data_reader = calibration_data_reader
        self.percdamp, self.block_size, self.actorder = percdamp, block_size, actorder
        self.mse, self.perchannel = mse, perchannel


class HQQWeightOnlyQuantConfig(WeightOnlyQuantConfig):
    """HQQ (Badri and Shaji 2023): zero points that are no integers, of smallest error of the weights."""

    def __init__(self, block_size=128, bits=4, axis=1, quant_format=QuantFormat.QOperator,
                 op_types_to_quantize: tuple[str, ...] | None = None,
                 quant_axes: tuple[tuple[str, int], ...] | None = None):
        _only_operators("HQQ", quant_format)
        super().__init__("HQQ", quant_format, op_types_to_quantize, quant_axes)
        self.block_size, self.bits, self.axis = block_size, bits, axis


class DefaultWeightOnlyQuantConfig(WeightOnlyQuantConfig):
    """To the nearest number. `channel_wised_quantize`: one block for each column (QDQ only)."""

    def __init__(self, block_size: int = 128, is_symmetric: bool = False, accuracy_level: int | None = None,
                 quant_format=QuantFormat.QOperator, op_types_to_quantize: tuple[str, ...] | None = None,
                 quant_axes: tuple[tuple[str, int], ...] | None = None, bits: int = 4,
                 channel_wised_quantize: bool = False):
        super().__init__("DEFAULT", quant_format, op_types_to_quantize, quant_axes)
        self.block_size, self.is_symmetric, self.bits = block_size, is_symmetric, bits
        self.accuracy_level, self.channel_wised_quantize = accuracy_level, channel_wised_quantize
        if channel_wised_quantize and quant_format == QuantFormat.QOperator:
            raise NotImplementedError("channel_wised_quantize: MatMulNBits has blocks; expected QuantFormat.QDQ")
