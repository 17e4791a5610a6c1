"""The modules of onnxruntime.capi that other packages import."""
