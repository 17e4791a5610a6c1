"""onnxruntime.quantization and its companions by that name, in the package `onnxruntime` of this build."""
import os
import pathlib
import subprocess
import sys
import textwrap

import onnx
from quantized_models import mlp

BUILD = pathlib.Path(os.environ.get("SDX_BUILD", "build/release")).resolve()


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "as_onnxruntime")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_modules_are_the_same():
    output = run("-c", textwrap.dedent("""
        import onnxruntime
        assert onnxruntime.sardonyx_version
        from onnxruntime.quantization import QuantType, quantize, quantize_dynamic, quantize_static, QDQQuantizer
        from onnxruntime.quantization.quantize import quantize as same
        from onnxruntime.quantization import quantize as again
        from onnxruntime.quantization.calibrate import CalibrationMethod, create_calibrator
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
        from onnxruntime.quantization.operators.conv import QDQConv, QLinearConv
        from onnxruntime.quantization.registry import IntegerOpsRegistry, QDQRegistry
        from onnxruntime.quantization.shape_inference import quant_pre_process
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
        from onnxruntime.transformers.float16 import convert_float_to_float16
        import sardonyx.quantization.quant_utils
        print(quantize is same is again, QuantType is sardonyx.quantization.quant_utils.QuantType)
        from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config
        from onnxruntime.tools.ort_format_model.ort_flatbuffers_py.fbs import Model, Node
        import onnxruntime.tools.ort_format_model
        from ort_flatbuffers_py.fbs.Node import Node as same_node
        from onnxruntime.quantization.CalTableFlatBuffers.KeyValue import KeyValue
        print(Node.Node is same_node, KeyValue.__module__)
        try:
            import onnxruntime.quantization.of_no_such_name
        except ImportError as failure:
            print(type(failure).__name__, failure)
        """))
    assert output.splitlines() == [
        "True True", "True sardonyx.quantization.CalTableFlatBuffers.KeyValue",
        "ModuleNotFoundError No module named 'onnxruntime.quantization.of_no_such_name'"]


def test_a_program_and_a_command(tmp_path):
    onnx.save(mlp(), tmp_path / "f.onnx")
    run("-m", "onnxruntime.quantization.preprocess", "--input", str(tmp_path / "f.onnx"), "--output",
        str(tmp_path / "p.onnx"))
    run("-m", "onnxruntime.tools.symbolic_shape_infer", "--input", str(tmp_path / "f.onnx"), "--output",
        str(tmp_path / "s.onnx"))
    output = run("-c", textwrap.dedent(f"""
        from onnxruntime.quantization import QuantType, quantize_dynamic
        import onnxruntime, numpy
        quantize_dynamic(r"{tmp_path}/p.onnx", r"{tmp_path}/q.onnx", weight_type=QuantType.QUInt8)
        session = onnxruntime.InferenceSession(r"{tmp_path}/q.onnx")
        print(session.run(None, {{"x": numpy.zeros((2, 16), numpy.float32)}})[0].shape)
        """))
    assert output.splitlines() == ["(2, 8)"]
