"""Tools for models with QuantizeLinear and DequantizeLinear."""
