#!/usr/bin/env python3
"""Calls every function of the C interface in our library and in ONNX Runtime's, and writes docs/abi_differences.md.

One program, compiled once (tests/capi/every_function), makes all calls with both libraries. Every call whose result
differs needs a row with its reason in tools/abi/differences.tsv, and every row such a call; only where ONNX Runtime
ends the process, no reason is needed. No call that ONNX Runtime answers with success may fail in our library, unless
what was passed makes ONNX Runtime end the process later (the rows with `later`). Rows with `open` are of functions that
are still to be implemented.

usage: tools/abi/differences.py [--update] [--build FOLDER]      with the Python of .venv-test
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/abi_differences.md"
REASONS = ROOT / "tools/abi/differences.tsv"
BROKEN = ("crashes", "exits", "hangs")
MODEL = """<ir_version: 9, opset_import: ["" : 18], producer_name: "p", metadata_props: ["text": "value"]>
g (float[N] x, float[1] w) => (float[N] y) <float[1] w = {1}> { y = Add(x, w) }"""
MANIFEST = {"schema_version": "1.0", "components": {"part": {"variants": {"first": {
    "ep": "CPUExecutionProvider", "executor_info": {"ort": {"model_file": "model.onnx"}}}}}}}


PAGE_TEXT = """# Calls of the C interface whose results differ from ONNX Runtime's

Written by `tools/abi/differences.py --update`; do not edit. The reasons are in `tools/abi/differences.tsv`, and
`tests/capi/test_abi_differences.py` keeps this page up to date.

One program, compiled once, calls every function of the six tables with good arguments, and then with one argument at a
time replaced by a bad one: {calls} calls of {functions} functions, with our library and with ONNX Runtime {version}.
Compared are the codes of errors, counts, values and texts; the words of errors are each library's own. What is called
`good` need not succeed: some functions need a device that is not there.

{equal} calls give the same result, {crashes} end the process in ONNX Runtime and do not here, and {different} differ
otherwise. No call ends the process in Sardonyx. No call that succeeds in ONNX Runtime fails here, except where ONNX
Runtime ends the process later, when it uses what it was given.
"""
SEEN = ROOT / "tests/providers/seen_differences.tsv"
SEEN_TEXT = """\
`tests/providers/test_seen.py` loads one plug-in into both libraries. The plug-in writes down all that it can ask of
the graphs in `GetCapability` and `Compile`: nodes in order, attributes, bodies and their parent nodes, types, shapes,
who makes and reads a value, constants, opsets, metadata. Without optimizations both show the same graphs, as often and
in the same order: constants as initializers, calls of functions level by level after inference, operators on images
channels last where the provider prefers them. What differs:"""
SEEN_REST = """\
- What a function's body becomes has names made from the call's name here (`call/value`), and from the function's
  name in ONNX Runtime (`_inlfunc_Function_value`). Transpositions and images channels last have other names, too.
- A call that the provider has claimed has the provider's name when it is shown again; ONNX Runtime names the provider
  of nodes that change their layout.
- GPUs and NPUs that are found on Linux have the name of their maker here, and an empty name in ONNX Runtime.
- With optimizations both show how shapes are computed where they are not known, weights that DequantizeLinear reads as
  they are, and Transpose, Reshape, Squeeze, Unsqueeze, Slice and MaxPool quantized on both sides where they are on one,
  if the scale is one constant. ONNX Runtime has moved and joined transpositions by then, and quantized around those
  with other scales, too; here the author's stay until providers have chosen: a provider with kernels for them loses
  nothing, and what nobody takes is moved and joined later."""
CRASH_TEXT = """Almost all of them pass NULL. Sardonyx returns ORT_INVALID_ARGUMENT (2); a function without a status
returns what the table shows."""


def write_files(folder):
    """What the program reads: a model, one with a custom operator, an adapter and a package."""
    import numpy as np
    import onnx.parser
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    model = onnx.parser.parse_model(MODEL).SerializeToString()
    (folder / "model.onnx").write_bytes(model)
    node = helper.make_node("Probe", ["x"], ["y"], domain="probe", f=1.5, i=3, s="abc", floats=[1.0, 2.0],
                            ints=[1, 2, 3], strings=["a", "bc"], t=numpy_helper.from_array(np.float32([1, 2])))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    probe = helper.make_model(helper.make_graph([node], "g", ports[:1], ports[1:]), ir_version=9,
                              opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("probe", 1)])
    (folder / "probe.onnx").write_bytes(probe.SerializeToString())
    adapter = onnxruntime.AdapterFormat()
    adapter.set_adapter_version(1)
    adapter.set_model_version(1)
    adapter.set_parameters({"w": onnxruntime.OrtValue.ortvalue_from_numpy(np.float32([5]))})
    adapter.export_adapter(str(folder / "adapter.onnx_adapter"))
    (folder / "package/first").mkdir(parents=True)
    (folder / "package/first/model.onnx").write_bytes(model)
    (folder / "package/manifest.json").write_text(json.dumps(MANIFEST))


def peer():
    import onnxruntime
    (library,) = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1*")
    return library


def results(build, library):
    """{call: result} of one library, in the order of the tables."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(pathlib.Path(folder))
        done = subprocess.run([build / "bin/capi_every_function", library, folder], capture_output=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{library}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    return dict(line.split(" | ", 1) for line in done.stdout.decode(errors="replace").splitlines())


def reasons():
    return [line.split("\t") for line in REASONS.read_text().splitlines()[1:]]


def succeeds(result):
    return not result.startswith(BROKEN) and (not result.startswith("status") or result.startswith("status 0"))


Difference = collections.namedtuple("Difference", "call theirs ours kind reason")


def compare(theirs, ours):
    """The calls whose results differ, and what is wrong: differences without a reason, rows without a difference,
    calls on which our library ends the process, and successes that fail here."""
    rows, used, found, wrong = reasons(), set(), [], []
    for call, theirs_said in theirs.items():
        said = ours[call]
        if said.startswith(BROKEN):
            wrong.append(f"{call}: Sardonyx {said}")
        if said == theirs_said:
            continue
        row = next((i for i, (pattern, _, _) in enumerate(rows) if re.fullmatch(pattern, call)), None)
        if theirs_said.startswith(BROKEN):
            found.append(Difference(call, theirs_said, said, "crash", ""))
            continue
        if row is None:
            wrong.append(f"{call}: no reason in {REASONS.name}: ONNX Runtime '{theirs_said}', Sardonyx '{said}'")
            continue
        used.add(row)
        _, kind, reason = rows[row]
        if succeeds(theirs_said) and not succeeds(said) and kind != "later":
            wrong.append(f"{call}: succeeds in ONNX Runtime ({theirs_said}), fails in Sardonyx ({said})")
        found.append(Difference(call, theirs_said, said, kind, reason))
    wrong += [f"{REASONS.name}: '{row[0]}' matches no difference" for i, row in enumerate(rows)
              if i not in used and row[1] != "open"]
    return found, wrong


def grouped(found):
    """{(function, theirs, ours, reason): [call]} with all calls of a function that differ in the same way together."""
    groups = {}
    for difference in found:
        function, _, call = difference.call.partition(" ")
        groups.setdefault((function, difference.theirs, difference.ours, difference.reason), []).append(call)
    return groups


def cell(text):
    return text.replace("|", "\\|")


def shown(result):
    return cell(re.sub(r"^status 0 ?", "success ", re.sub(r"^status ([1-9]\d*)", r"error \1", result)).strip())


def table(found):
    lines = ["| function | calls | ONNX Runtime | Sardonyx | why |", "|---|---|---|---|---|"]
    for (function, theirs, ours, reason), calls in grouped(found).items():
        names = ", ".join(f"`{call}`" for call in calls)
        lines.append(f"| `{function}` | {names} | {shown(theirs)} | {shown(ours)} | {reason} |")
    return lines


def page(theirs, found, version):
    crashes = [difference for difference in found if difference.kind == "crash"]
    later = [difference for difference in found if difference.kind == "later"]
    others = [difference for difference in found if difference.kind not in ("crash", "later")]
    lines = [PAGE_TEXT.format(calls=len(theirs), functions=len({call.split(" ")[0] for call in theirs}),
                              version=version, equal=len(theirs) - len(found), crashes=len(crashes),
                              different=len(others) + len(later)),
             "## Other results", "", *table(others), "",
             "## Mistakes that ONNX Runtime keeps", "", *table(later), "",
             "## What a provider is shown", "", SEEN_TEXT, "", *seen(), "", SEEN_REST, "",
             "## Calls that end the process in ONNX Runtime", "", CRASH_TEXT, "",
             "| function | calls | Sardonyx |", "|---|---|---|"]
    for (function, _, said, _), calls in grouped(crashes).items():
        lines.append(f"| `{function}` | {', '.join(f'`{call}`' for call in calls)} | {shown(said)} |")
    return "\n".join(lines) + "\n"


def seen():
    """The table of what a provider is shown otherwise."""
    models = {}
    for row in SEEN.read_text().splitlines()[1:]:
        model, where, why = row.split("\t")
        models.setdefault(why, []).append(model.split(",")[0])
    return ["| in the test's model | difference |", "|---|---|",
            *(f"| {', '.join(dict.fromkeys(names))} | {why} |" for why, names in models.items())]


def survey(build):
    """What is wrong, and the page as it should be."""
    import onnxruntime
    theirs, ours = results(build, peer()), results(build, build / "lib/libsardonyx.so")
    found, wrong = compare(theirs, ours)
    return wrong, page(theirs, found, onnxruntime.__version__), theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the page")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    wrong, text, _ = survey(options.build)
    if options.update:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        wrong.append(f"{PAGE.name}: not what this tool writes; run it with --update and commit the result")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
