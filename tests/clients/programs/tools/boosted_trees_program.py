"""Trains models, converts them, runs them with onnxruntime, compares. Prints ok and failed lines; arguments: none."""
import pathlib
import warnings

import catboost
import lightgbm
import numpy as np
import onnxmltools
import onnxruntime
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

warnings.filterwarnings("ignore")
random = np.random.default_rng(1)
X = random.normal(size=(400, 8)).astype(np.float32)
FEW = X[:50].copy()
FEW[::7, 3] = np.nan  # a missing number
Y = {"regression": X[:, 0] * 2 + np.sin(X[:, 1] * 3) + X[:, 2] * X[:, 3],
     "two classes": (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int),
     "four classes": (np.digitize(X[:, 0] + X[:, 4], [-1, 0, 1])).astype(int)}
INPUTS = [("x", FloatTensorType([None, 8]))]


def run(model, data):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: data})


def scores(found, classes):
    """Probabilities as an array, which some converters give as a map for each row."""
    if isinstance(found, list):
        return np.array([[row[c] for c in range(classes)] for row in found])
    return np.asarray(found)


def compare(name, model, trained, data, tolerance=1e-4):
    try:
        outputs = run(model, data)
        if "regression" in name:
            np.testing.assert_allclose(np.ravel(outputs[0]), np.ravel(trained.predict(data)), rtol=tolerance,
                                       atol=tolerance)
        else:
            expected = trained.predict_proba(data)
            np.testing.assert_allclose(scores(outputs[1], expected.shape[1]), expected, rtol=tolerance, atol=tolerance)
            assert np.array_equal(np.ravel(outputs[0]), np.ravel(trained.predict(data)))
        print("ok " + name)
    except Exception as error:
        print(f"failed {name}: {type(error).__name__} {str(error)[:300]!r}")


for task, y in Y.items():
    kind = "Regressor" if task == "regression" else "Classifier"
    trained = getattr(lightgbm, f"LGBM{kind}")(n_estimators=30, verbose=-1, random_state=1).fit(X, y)
    model = onnxmltools.convert_lightgbm(trained, initial_types=INPUTS, zipmap=False, target_opset=15)
    compare(f"LightGBM, {task}", model.SerializeToString(), trained, FEW)
    trained = getattr(xgboost, f"XGB{kind}")(n_estimators=30, max_depth=4, random_state=1).fit(X, y)
    model = onnxmltools.convert_xgboost(trained, initial_types=INPUTS, target_opset=15)
    compare(f"XGBoost, {task}", model.SerializeToString(), trained, FEW)
    trained = getattr(catboost, f"CatBoost{kind}")(iterations=30, depth=4, verbose=False, random_seed=1,
                                                   allow_writing_files=False).fit(X, y)
    trained.save_model("catboost.onnx", format="onnx")
    compare(f"CatBoost, {task}", pathlib.Path("catboost.onnx").read_bytes(), trained, X[:50])
trained = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(X, Y["four classes"])
model = onnxmltools.convert_lightgbm(trained, initial_types=INPUTS, zipmap=True, target_opset=15)
compare("LightGBM, maps of four classes", model.SerializeToString(), trained, FEW)
trained = lightgbm.LGBMRegressor(objective="poisson", n_estimators=20, verbose=-1).fit(X, np.exp(X[:, 0]))
model = onnxmltools.convert_lightgbm(trained, initial_types=INPUTS, target_opset=15)
compare("LightGBM, regression of Poisson", model.SerializeToString(), trained, FEW)
trained = xgboost.XGBRegressor(objective="count:poisson", n_estimators=20).fit(X, np.exp(X[:, 0]))
model = onnxmltools.convert_xgboost(trained, initial_types=INPUTS, target_opset=15)
compare("XGBoost, regression of Poisson", model.SerializeToString(), trained, FEW)
print("end")
