"""The tables of ranges that NVIDIA's provider reads (calibration.flatbuffers, see write_calibration_table)."""
from sardonyx.flat_tables import make_modules

_SCHEMA = """
table KeyValue: Key:string, Value:string
table TrtTable: Dict:[KeyValue]
"""
globals().update(make_modules(__name__, _SCHEMA, lambda name: bytes(4)))
