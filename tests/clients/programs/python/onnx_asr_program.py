"""Prints what the models of onnx-asr's preprocessors give for sounds made here. Arguments: none."""
import importlib.resources

import numpy as np
import onnx_asr.preprocessors
import onnxruntime

random = np.random.default_rng(1)
folder = importlib.resources.files(onnx_asr.preprocessors) / "data"
for path in sorted(folder.iterdir(), key=lambda path: path.name):
    if not path.name.endswith(".onnx"):
        continue
    session = onnxruntime.InferenceSession(path.read_bytes())
    sounds = (np.sin(np.arange(2 * 16000) * 0.05) * 0.3 + random.normal(size=(2, 2 * 16000)) * 0.05).astype(np.float32)
    lengths = np.array([2 * 16000, 16000 + 123])
    names = [value.name for value in session.get_inputs()]
    results = session.run(None, dict(zip(names, (sounds, lengths), strict=False)))
    for output, result in zip(session.get_outputs(), results, strict=True):
        numbers = np.asarray(result, np.float64)
        print(f"result {path.name} {output.name}:", *result.shape, f"{numbers.mean():.4f} {numbers.std():.4f}",
              *np.round(numbers.ravel()[:: max(1, numbers.size // 8)], 3))
