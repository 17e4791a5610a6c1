"""Prints what boosting machines of interpret predict as ONNX models, and whether interpret predicts the same."""
import ebm2onnx
import numpy as np
import onnxruntime
import pandas as pd
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

ROWS = 400


def say(name, *values):
    print(f"result {name}:", *("_".join(str(value).split()) for value in values), flush=True)


def table():
    """A passenger's age, fare, class and port, with some ages missing."""
    random = np.random.default_rng(4)
    age = random.uniform(1, 80, ROWS)
    age[::17] = np.nan
    return pd.DataFrame({"age": age, "fare": random.gamma(2.0, 15.0, ROWS), "rank": random.integers(1, 4, ROWS),
                         "port": pd.Series(random.choice(["S", "C", "Q"], ROWS), dtype=object),
                         "alone": (random.random(ROWS) < 0.4).astype(int)})


def targets(data):
    """Whom a number, one of two and one of three answers depend on."""
    known = data["age"].fillna(30)
    number = 0.05 * known - 0.02 * data["fare"] + 0.7 * (data["port"] == "C") * data["rank"] - 0.4 * data["alone"]
    return number.to_numpy(), (number > number.median()).astype(int).to_numpy(), pd.qcut(number, 3, labels=False
                                                                                         ).to_numpy()


def show(name, machine, data, **options):
    """Runs a machine as an ONNX model, and compares it with itself."""
    made = ebm2onnx.to_onnx(machine, ebm2onnx.get_dtype_from_pandas(data), name=name, **options)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    say(f"{name} takes", *(f"{value.name}={value.type}" for value in session.get_inputs()))
    feeds = {value.name: data[value.name].to_numpy() for value in session.get_inputs()}
    feeds = {key: array.astype(object) if array.dtype.kind not in "fib" else array for key, array in feeds.items()}
    outputs = [value.name for value in session.get_outputs()]
    found = dict(zip(outputs, session.run(outputs, feeds), strict=True))
    for output, array in found.items():
        kept = np.asarray(array, np.float64)[::50].ravel()
        say(f"{name}, {output}", *array.shape, array.dtype, *(f"{value:.5f}" for value in kept))
    expected = machine.predict_proba(data) if "probabilities" in found else machine.predict(data)
    same = np.asarray(found.get("probabilities", found["prediction"]), np.float64).reshape(expected.shape)
    say(f"{name} is interpret's", np.isclose(same, expected, atol=1e-4).mean())


def main():
    data = table()
    number, two, three = targets(data)
    plain = data[["age", "fare"]].dropna()
    kept = plain.index
    options = {"random_state": 1, "n_jobs": 1, "max_rounds": 200, "outer_bags": 2}
    show("regression", ExplainableBoostingRegressor(interactions=0, **options).fit(plain, number[kept]), plain)
    kinds = ["continuous", "continuous", "nominal", "nominal", "nominal"]
    regression = ExplainableBoostingRegressor(interactions=0, feature_types=kinds, **options)
    show("regression on words", regression.fit(data, number), data)
    classifier = ExplainableBoostingClassifier(interactions=0, feature_types=kinds, **options).fit(data, two)
    show("two answers", classifier, data)
    show("chances of two answers", classifier, data, predict_proba=True, explain=True)
    classifier = ExplainableBoostingClassifier(interactions=2, feature_types=kinds, **options).fit(data, two)
    show("two answers from pairs", classifier, data, predict_proba=True)
    classifier = ExplainableBoostingClassifier(interactions=0, feature_types=kinds, **options).fit(data, three)
    show("chances of three answers", classifier, data, predict_proba=True)
    print("end")


if __name__ == "__main__":
    main()
