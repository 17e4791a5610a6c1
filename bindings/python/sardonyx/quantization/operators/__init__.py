"""How each operator is quantized: one class for an operator and a form, which the registry lists."""
