"""Empty, as in ONNX Runtime's package for the CPU: no library has to be loaded before the extension module."""
