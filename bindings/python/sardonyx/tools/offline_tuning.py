"""Results of tuning kernels: taken out of a model, put into it, merged. Kernels that are tuned are those of GPUs; the
results are text, which is kept here for programs that pass it on.

usage: python -m onnxruntime.tools.offline_tuning extract MODEL JSON | embed [--force] OUTPUT_MODEL MODEL JSON... |
       merge OUTPUT_JSON JSON... | pprint JSON_OR_MODEL"""
import argparse
import json
import pathlib
import sys
from pprint import pprint
from typing import Any

import onnx

TuningResults = dict[str, Any]

_KEY = "tuning_results"


def extract(model: onnx.ModelProto):
    """The results that an onnx.ModelProto holds; None if it has none."""
    return next((json.loads(entry.value) for entry in model.metadata_props if entry.key == _KEY), None)


def embed(model: onnx.ModelProto, tuning_results: list[TuningResults], overwrite=False):
    """Puts results into an onnx.ModelProto, which is returned. Errors: ValueError if it has some, without
    `overwrite`."""
    known = [entry for entry in model.metadata_props if entry.key == _KEY]
    if known and not overwrite:
        raise ValueError("the model has tuning results already")
    for entry in known:
        model.metadata_props.remove(entry)
    model.metadata_props.add(key=_KEY, value=json.dumps(tuning_results))
    return model


class Merger:
    """Puts results together: those of the same provider and validators become one entry, where the first of several
    results for the same operator and sizes stays."""

    class EpAndValidators:
        """The provider that results are for, and what they are valid for."""

        def __init__(self, ep: str, validators: dict[str, str]):
            self.ep, self.validators = ep, dict(validators)
            self.key = (ep, tuple(sorted(validators.items())))

        def __hash__(self):
            return hash(self.key)

        def __eq__(self, other):
            return self.key == other.key

    def __init__(self):
        self.ev_to_results = {}

    def merge(self, tuning_results: list[TuningResults]):
        for entry in tuning_results:
            kernels = self.ev_to_results.setdefault(self.EpAndValidators(entry["ep"], entry["validators"]), {})
            for operator, chosen in entry["results"].items():
                for sizes, kernel in chosen.items():
                    kernels.setdefault((operator, sizes), kernel)

    def get_merged(self):
        made = []
        for valid_for, kernels in self.ev_to_results.items():
            results = {}
            for (operator, sizes), kernel in kernels.items():
                results.setdefault(operator, {})[sizes] = kernel
            made.append({"ep": valid_for.ep, "validators": valid_for.validators, "results": results})
        return made


def parse_args():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="cmd", required=True)
    taken = commands.add_parser("extract", help="write the results that a model holds")
    taken.add_argument("input_onnx")
    taken.add_argument("output_json")
    put = commands.add_parser("embed", help="put results into a model")
    put.add_argument("--force", "-f", action="store_true", help="replace those that it has")
    put.add_argument("output_onnx")
    put.add_argument("input_onnx")
    put.add_argument("input_json", nargs="+")
    merged = commands.add_parser("merge", help="put results of several files into one")
    merged.add_argument("output_json")
    merged.add_argument("input_json", nargs="+")
    commands.add_parser("pprint", help="print results").add_argument("json_or_onnx")
    return parser.parse_args()


def _read(path):
    return json.loads(pathlib.Path(path).read_text())


def _merged(paths):
    merger = Merger()
    for path in paths:
        merger.merge(_read(path))
    return merger.get_merged()


def _extracted(path):
    found = extract(onnx.load_model(path))
    if found is None:
        sys.exit(f"{path} holds no tuning results")
    return found


def main():
    options = parse_args()
    if options.cmd == "extract":
        pathlib.Path(options.output_json).write_text(json.dumps(_extracted(options.input_onnx)))
    elif options.cmd == "embed":
        model = onnx.load_model(options.input_onnx)
        onnx.save_model(embed(model, _merged(options.input_json), options.force), options.output_onnx)
    elif options.cmd == "merge":
        pathlib.Path(options.output_json).write_text(json.dumps(_merged(options.input_json)))
    else:
        try:
            results = _read(options.json_or_onnx)
        except ValueError:  # not text, or not JSON: a model
            results = _extracted(options.json_or_onnx)
        pprint(results)


if __name__ == "__main__":
    main()
