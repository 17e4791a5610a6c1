"""The text of the models in onnxruntime.datasets: names, shapes and numbers are those of ONNX Runtime's examples."""
EXAMPLES = {
    "mul_1.onnx": """
<ir_version: 4, opset_import: ["" : 7], producer_name: "sardonyx">
mul_1 (float[3, 2] X) => (float[3, 2] Y) <float[3, 2] W = {1, 2, 3, 4, 5, 6}> { [mul_1] Y = Mul (X, W) }""",
    "sigmoid.onnx": """
<ir_version: 3, opset_import: ["" : 9], producer_name: "sardonyx">
sigmoid (float[3, 4, 5] x) => (float[3, 4, 5] y) { y = Sigmoid (x) }""",
    "logreg_iris.onnx": """
<ir_version: 3, opset_import: ["ai.onnx.ml" : 1], producer_name: "sardonyx">
logreg_iris (float[3, 2] float_input) => (int64[3] label, seq(map(int64, float)) probabilities)
{
   [LinearClassifier] label, scores = ai.onnx.ml.LinearClassifier <
      classlabels_ints: ints = [0, 1, 2], multi_class: int = 0, post_transform: string = "LOGISTIC",
      coefficients: floats = [0.38574114, 1.3805406, -2.13145, -0.9928048, 0.6427745, -1.7489388],
      intercepts: floats = [0.2496292, 0.5820278, -0.94161665]> (float_input)
   [Normalizer] normalized = ai.onnx.ml.Normalizer <norm: string = "L1"> (scores)
   [ZipMap] probabilities = ai.onnx.ml.ZipMap <classlabels_int64s: ints = [0, 1, 2]> (normalized)
}""",
}
