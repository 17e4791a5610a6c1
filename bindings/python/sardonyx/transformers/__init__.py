"""Transformer models with ONNX Runtime's fused operators: what `onnxruntime.transformers` offers, on Sardonyx's own
graph and optimizer (docs/transformers_optimizer.md)."""
