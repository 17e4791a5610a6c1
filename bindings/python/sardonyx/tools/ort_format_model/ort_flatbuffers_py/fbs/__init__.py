"""One module for each table, struct and enumeration of ORT format, made of schema.py:

    from onnxruntime.tools.ort_format_model.ort_flatbuffers_py import fbs
    model = fbs.InferenceSession.InferenceSession.GetRootAs(open("model.ort", "rb").read()).Model()"""
from sardonyx.flat_tables import make_modules
from sardonyx.tools.ort_format_model.ort_flatbuffers_py.fbs.schema import SCHEMA

_OF_TRAINING = {"Checkpoint", "FloatProperty", "IntProperty", "ModuleState", "OptimizerGroup",
                "ParameterOptimizerState", "PropertyBag", "StringProperty"}
_modules = make_modules(__name__, SCHEMA, lambda name: b"ODTC" if name in _OF_TRAINING else b"ORTM")
globals().update(_modules)
__all__ = list(_modules)
