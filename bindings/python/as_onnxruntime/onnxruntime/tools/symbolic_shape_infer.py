"""The names of onnxruntime.tools.symbolic_shape_infer."""
from sardonyx.symbolic_shape_infer import SymbolicShapeInference, main  # noqa: F401

if __name__ == "__main__":
    main()
