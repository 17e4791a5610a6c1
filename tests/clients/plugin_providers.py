"""Released libraries of execution providers, in ONNX Runtime and in Sardonyx: the same program with the same library.

usage: python tests/clients/plugin_providers.py [NAME ...]

Makes an environment of its own under $SARDONYX_CLIENTS (~/.cache/sardonyx-clients) and prints a line for each provider
and model. Never part of the tests: the packages are large. A model counts as failed if ONNX Runtime runs it and
Sardonyx does not, or if its results are further from the CPU's than ONNX Runtime's are.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
CACHE = pathlib.Path(os.environ.get("SARDONYX_CLIENTS", pathlib.Path.home() / ".cache/sardonyx-clients"))
PROGRAM = pathlib.Path(__file__).parent / "programs/plugin_program.py"
STOCK = "onnxruntime==1.31.1"
TOLERANCE = 1e-5
# Name: the package, the library in it, and options.
PROVIDERS = {
    "nxrt": ("nxrt-ep-cpu==0.1.0.dev6", "nxrt_ep_cpu/libonnx_runtime_ep_cpu_plugin.so", []),
    "openvino": ("onnxruntime-ep-openvino==1.8.1",
                 "onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so", []),
    "webgpu": ("onnxruntime-ep-webgpu==0.4.0", "onnxruntime_ep_webgpu/libonnxruntime_providers_webgpu.so", []),
    "qnn": ("onnxruntime-qnn==2.7.0", "onnxruntime_qnn/libonnxruntime_providers_qnn.so", ["backend_type=cpu"]),
}


def install():
    place = CACHE / "plugin_providers"
    python = place / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, STOCK, "onnx"], check=True)
        for package, *_ in PROVIDERS.values():
            subprocess.run([*pip, "--no-deps", "--pre", package], check=True)
    return python


def run(python, library, options, package):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LD_"))}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    done = subprocess.run([python, PROGRAM, library, *options], env=environment, capture_output=True, text=True,
                          errors="replace", timeout=600)
    if done.returncode != 0:
        return {"error": (done.stdout + done.stderr).strip()[-2000:] or f"ended with {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(name, stock, ours):
    """Prints what there is to say of one provider; gives the number of failures."""
    print(f"{name}: devices {json.dumps(stock.get('devices', stock))}")
    if "error" in stock:
        print(f"{name}: ONNX Runtime itself: {stock['error']}")
        return 0
    if "error" in ours or ours["devices"] != stock["devices"]:
        print(f"{name}: FAILED: {ours.get('error', ours.get('devices'))}")
        return 1
    failures = 0
    for model in sorted(set(stock) - {"runtime", "devices"}):
        theirs, mine = stock[model], ours[model]
        if "error" in theirs:
            print(f"{name}: {model}: ONNX Runtime itself: {theirs['error'][:300]}; Sardonyx: {json.dumps(mine)[:300]}")
            continue
        good = "error" not in mine and mine["distance"] <= max(TOLERANCE, 2 * theirs["distance"])
        failures += not good
        print(f"{name}: {model}: {'ok' if good else 'FAILED'}: {json.dumps(mine)} (ONNX Runtime: "
              f"{json.dumps(theirs['on_plugin'])}, {theirs['distance']:.2g})")
    return failures


def main():
    python = install()
    site = next((CACHE / "plugin_providers/venv/lib").glob("python*/site-packages"))
    failures = 0
    for name in sys.argv[1:] or PROVIDERS:
        _, library, options = PROVIDERS[name]
        stock = run(python, site / library, options, None)
        ours = run(python, site / library, options, BUILD / "as_onnxruntime")
        if "runtime" in ours and not pathlib.Path(ours["runtime"]).is_relative_to(BUILD):
            sys.exit(f"expected our package, found {ours['runtime']}")
        failures += compare(name, stock, ours)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
