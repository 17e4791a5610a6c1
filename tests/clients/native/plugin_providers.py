"""Released libraries of execution providers: the same program with the same libraries in ONNX Runtime and here.

A model passes here if it runs, on the plug-in too where ONNX Runtime runs parts of it there, and if its results are not
further from the CPU's than ONNX Runtime's are."""
import json
import pathlib

from client import FAILED, PASSED, PROGRAMS, STOCK_VERSION, ClientError, make_venv, must

NAME = "plug-in providers: nxrt-ep-cpu, openvino, webgpu, qnn"
VERSION = "0.1.0.dev6, 1.8.1, 0.4.0, 2.7.0"
KIND = "package"
RUNS = "their devices, and five models over them with the CPU as the rest"
TOLERANCE = 1e-5
# Name: the package, the library in it, and options.
PROVIDERS = {
    "nxrt": ("nxrt-ep-cpu==0.1.0.dev6", "nxrt_ep_cpu/libonnx_runtime_ep_cpu_plugin.so", []),
    "openvino": ("onnxruntime-ep-openvino==1.8.1",
                 "onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so", []),
    "webgpu": ("onnxruntime-ep-webgpu==0.4.0", "onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so", []),
    "qnn": ("onnxruntime-qnn==2.7.0", "onnxruntime_qnn/libonnxruntime_providers_qnn.so", ["backend_type=cpu"]),
}
VULKAN = pathlib.Path("/usr/share/vulkan/icd.d")


def install(place):
    if not list(VULKAN.glob("lvp_icd*")):  # WebGPU finds no device without a driver, on either side
        raise ClientError("expected Mesa's Vulkan driver for the CPU: apt-get install mesa-vulkan-drivers libvulkan1")
    python = make_venv(place, f"onnxruntime=={STOCK_VERSION}", "onnx")
    for package, *_ in PROVIDERS.values():
        must(python, "-m", "pip", "install", "-q", "--no-deps", "--pre", package)


def answer(place, side, library, options):
    """What the program says: an object, {"error": why} if it has ended otherwise."""
    output = side.run(place / "venv/bin/python", PROGRAMS / "native/plugin_program.py", library, *options, cwd=place,
                      timeout=600)
    found = [line for line in output.text.splitlines() if line.startswith("{")]
    return json.loads(found[-1]) if output.status == 0 and found else {"error": output.text[-2000:]}


def passes(mine, theirs):
    if "error" in theirs:
        return False  # it fails on both, or is not compared
    if "error" in mine:
        return False
    placed = bool(mine["on_plugin"]) or not theirs["on_plugin"]
    return placed and mine["distance"] <= max(TOLERANCE, 2 * theirs["distance"])


def run(place, side):
    (site,) = place.glob("venv/lib/*/site-packages")
    results = {}
    for name, (_, library, options) in PROVIDERS.items():
        kept = place / f"{name}.json"
        mine = answer(place, side, site / library, options)
        if side.name == "stock":
            kept.write_text(json.dumps(mine))
        theirs = json.loads(kept.read_text())
        same = "error" not in theirs and mine.get("devices") == theirs["devices"]
        results[f"{name}: devices"] = PASSED if same else FAILED
        for model in sorted(set(theirs) - {"runtime", "devices", "error"}):
            fine = passes(mine.get(model, {"error": "not run"}), theirs[model])
            results[f"{name}: {model}"] = PASSED if fine else FAILED
    return results
