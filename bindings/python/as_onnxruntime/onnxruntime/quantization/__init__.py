"""What Sardonyx has of onnxruntime.quantization; using another name of it raises an error with that name."""
from sardonyx.quantization.calibrate import CalibraterBase as CalibraterBase
from sardonyx.quantization.calibrate import CalibrationDataReader as CalibrationDataReader
from sardonyx.quantization.calibrate import CalibrationMethod as CalibrationMethod
from sardonyx.quantization.calibrate import MinMaxCalibrater as MinMaxCalibrater
from sardonyx.quantization.calibrate import TensorData as TensorData
from sardonyx.quantization.calibrate import TensorsData as TensorsData
from sardonyx.quantization.calibrate import create_calibrator as create_calibrator
from sardonyx.quantization.calibrate import load_tensors_data as load_tensors_data
from sardonyx.quantization.calibrate import save_tensors_data as save_tensors_data
from sardonyx.quantization.quant_utils import QuantFormat as QuantFormat
from sardonyx.quantization.quant_utils import QuantizationMode as QuantizationMode
from sardonyx.quantization.quant_utils import QuantType as QuantType

from onnxruntime._not_implemented import refusing

__getattr__ = refusing(__name__)
