"""onnxruntime.tools is not implemented in Sardonyx: using a name of it raises an error with that name."""
from onnxruntime._not_implemented import refusing

__getattr__ = refusing(__name__)
