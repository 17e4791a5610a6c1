"""Which operators and types models in ORT format need: what a build of the library for these models alone has to
contain."""
import sys

from sardonyx.tools.ort_format_model import ort_flatbuffers_py
from sardonyx.tools.ort_format_model.operator_type_usage_processors import (  # noqa: F401
    GloballyAllowedTypesOpTypeImplFilter,
    OperatorTypeUsageManager,
    OpTypeImplFilterInterface,
)
from sardonyx.tools.ort_format_model.ort_flatbuffers_py import fbs
from sardonyx.tools.ort_format_model.ort_model_processor import OrtFormatModelProcessor  # noqa: F401
from sardonyx.tools.ort_format_model.utils import create_config_from_models  # noqa: F401

# Programs import the readers by this name, too.
sys.modules.setdefault("ort_flatbuffers_py", ort_flatbuffers_py)
sys.modules.setdefault("ort_flatbuffers_py.fbs", fbs)
for _name in fbs.__all__:
    sys.modules.setdefault(f"ort_flatbuffers_py.fbs.{_name}", getattr(fbs, _name))
