"""Cases with the plug-in of tests/providers/plugin; test_plugin.py runs each in a process of its own, in Sardonyx and
in ONNX Runtime.

usage: python plugin_cases.py CASE LIBRARY
"""
import ctypes
import gc
import os
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

OF_SARDONYX = int(hasattr(ort, "sardonyx_version"))
NAME, CPU = "SdxTestProvider", "CPUExecutionProvider"
LIBRARY = sys.argv[2]
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
CHAIN = """
<ir_version: 8, opset_import: ["" : OPSET]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Relu (b)
  d = Tanh (c)
  e = Add (d, d)
  y = Neg (e)
}"""
WANTED = -2 * np.tanh(np.maximum(X * np.array([1, 2, 3, 4], np.float32) + X, 0))


def model(opset=17, text=CHAIN):
    return onnx.parser.parse_model(text.replace("OPSET", str(opset))).SerializeToString()


def counts():
    """What the plug-in says is alive, by kind; the library is not kept open."""
    library = ctypes.CDLL(LIBRARY, mode=os.RTLD_NOW | getattr(os, "RTLD_NOLOAD", 4))
    count = library.TestPluginCount
    count.restype, count.argtypes = ctypes.c_long, [ctypes.c_char_p]
    kinds = ("factories", "providers", "compiled_nodes", "states", "allocators", "blocks", "transfers", "streams",
             "kernels")
    result = {kind: count(kind.encode()) for kind in kinds}
    ctypes.CDLL(None).dlclose(ctypes.c_void_p(library._handle))
    return result


def is_loaded():
    with open("/proc/self/maps") as maps:
        return any(LIBRARY in line for line in maps)


def devices():
    return {device.ep_metadata["kind"]: device for device in ort.get_ep_devices() if device.ep_name == NAME}


def session(kind, options=None, **keywords):
    settings = ort.SessionOptions()
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    settings.add_provider_for_devices([devices()[kind]], options or {})
    # ONNX Runtime would hide an error of a provider behind a session on the CPU.
    return ort.InferenceSession(keywords.pop("model", model()), sess_options=settings, enable_fallback=0, **keywords)


def operators(made):
    """The operators that run on the plug-in, in the order of execution."""
    return [node.op_type for part in made.get_provider_graph_assignment_info() if part.ep_name == NAME
            for node in part.get_nodes()]


def check(made, x=X, wanted=WANTED):
    np.testing.assert_allclose(made.run(None, {"x": x})[0], wanted, rtol=1e-6)


def case_devices():
    listed = devices()
    assert list(listed) == ["host", "card", "kernels"], listed
    device = listed["host"]
    assert (device.ep_vendor, device.ep_metadata["version"]) == ("Sardonyx tests", "1.2.3")
    assert device.ep_metadata["library_path"] == LIBRARY and device.ep_options == {"operators": "all"}
    assert int(getattr(device.device.type, "value", device.device.type)) == 0
    cpu = [device for device in ort.get_ep_devices() if device.ep_name == CPU]
    assert len(cpu) == 1
    assert listed["host"].memory_info(ort.OrtDeviceMemoryType.DEFAULT) is None
    card = listed["card"].memory_info(ort.OrtDeviceMemoryType.DEFAULT)
    assert (card.name, card.device_vendor_id, card.device_id) == ("SdxTestCard", 0x5d4e, 0)


def case_compiled():
    made = session("host")
    assert made.get_providers() == [NAME, CPU]
    check(made)
    check(made, X[:1], WANTED[:1])  # other shapes, and back
    check(made)
    assert counts()["compiled_nodes"] == counts()["states"] == 2, counts()
    assert sorted(operators(made)) == ["Add", "Add", "Mul", "Neg", "Relu"], operators(made)


def case_options():
    made = session("host", {"operators": "Mul,Add", "drop_constants": "1"})
    check(made)
    assert counts()["compiled_nodes"] == 2, counts()
    check(session("host", {"operators": "none"}))
    assert operators(session("host", {"operators": "none"})) == []


def case_bodies():
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[N] x) => (float[N] y) {
      y = If (c) <then_branch = yes () => (float[N] a) { h = Add (x, x)  a = Neg (h) },
                  else_branch = no () => (float[N] b) { b = Exp (x) }>
    }"""
    made = session("host", model=model(text=text))
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(made.run(None, {"c": np.array(True), "x": x})[0], -2 * x)
    np.testing.assert_allclose(made.run(None, {"c": np.array(False), "x": x})[0], np.exp(x), rtol=1e-6)


def case_card():
    made = session("card")
    check(made)
    check(made, X[:2], WANTED[:2])
    assert counts()["allocators"] >= 1, counts()
    del made
    gc.collect()


def case_kernels():
    # The kernels are for some versions of the operators: an author's opset decides, not the newest one.
    made = session("kernels", model=model(opset=12))
    check(made)
    assert counts()["kernels"] == 5, counts()
    del made
    made = session("kernels", model=model(opset=13))
    check(made)  # of Relu and of Neg, version 13 has no kernel
    assert counts()["kernels"] == 3, counts()


def case_lifetimes():
    made = session("host")
    try:
        ort.unregister_execution_provider_library("test")
        raise SystemExit("a library in use was unregistered")
    except Exception as error:  # noqa: BLE001  (either runtime's)
        assert "still in use" in str(error), error
    check(made)
    values = made.run(None, {"x": X})
    del made
    gc.collect()
    ort.unregister_execution_provider_library("test")
    np.testing.assert_allclose(values[0], WANTED, rtol=1e-6)
    assert not is_loaded()
    for _ in range(3):
        ort.register_execution_provider_library("test", LIBRARY)
        check(session("host"))
        gc.collect()
        ort.unregister_execution_provider_library("test")
        assert not is_loaded()
    ort.register_execution_provider_library("test", LIBRARY)


def case_misuse():
    def refused(action, text):
        try:
            action()
        except Exception as error:  # noqa: BLE001
            assert text in str(error), error
        else:
            raise SystemExit(f"expected an error: {text}")

    refused(lambda: ort.register_execution_provider_library("test", LIBRARY), "registered already")
    refused(lambda: ort.register_execution_provider_library("other", LIBRARY + ".missing"), "there is no file")
    refused(lambda: ort.register_execution_provider_library("other", __file__), "cannot be loaded")
    refused(lambda: ort.unregister_execution_provider_library("other"), "no provider library is registered as 'other'")
    options = ort.SessionOptions()
    listed = ort.get_ep_devices()
    refused(lambda: options.add_provider_for_devices([], {}), "at least one device")
    refused(lambda: options.add_provider_for_devices(listed, {}), "expected devices")
    options.add_provider_for_devices([devices()["host"]], {})
    ort.unregister_execution_provider_library("test")
    refused(lambda: ort.InferenceSession(model(), options), "has been unregistered")
    ort.register_execution_provider_library("test", LIBRARY)


FAULTS_AT_REGISTERING = ("CreateEpFactories", "GetSupportedDevices", "CreateDataTransfer")
FAULTS_AT_LOADING = {"CreateEp": "host", "Compile": "host", "CreateState": "host",
                     "CreateKernel": "kernels", "GetKernelRegistry": "kernels", "CreateAllocator": "card"}
FAULTS_AT_RUNNING = {"Compute": "host", "OnRunStart": "host", "OnRunEnd": "host", "KernelCompute": "kernels",
                     "CopyTensors": "card", "Alloc": "card"}


def case_faults():
    def fails(fault, action):
        os.environ["SDX_PLUGIN_FAULT"] = fault
        try:
            action()
        except Exception as error:  # noqa: BLE001
            text = str(error)
            assert ("planted fault in " + fault in text) or (fault == "Alloc" and "out of memory" in text), text
            # Besides the plug-in's words the error says who was called.
            assert "::" in text or fault in ("CreateEpFactories", "CreateKernel", "Alloc"), text
        else:
            raise SystemExit(f"expected the planted fault in {fault}")
        finally:
            del os.environ["SDX_PLUGIN_FAULT"]

    ort.unregister_execution_provider_library("test")
    for fault in FAULTS_AT_REGISTERING:
        fails(fault, lambda: ort.register_execution_provider_library("test", LIBRARY))
        assert not is_loaded()
    ort.register_execution_provider_library("test", LIBRARY)
    for fault, kind in FAULTS_AT_LOADING.items():
        fails(fault, lambda kind=kind: session(kind, model=model(opset=12)))
        check_all_returned()
    for fault, kind in FAULTS_AT_RUNNING.items():
        made = session(kind, model=model(opset=12))
        if fault != "Alloc":
            check(made)
        fails(fault, lambda made=made: made.run(None, {"x": X}))
        check(made)  # the next run is as good as any
        del made
        gc.collect()


def case_refusal():
    os.environ["SDX_PLUGIN_FAULT"] = "GetCapability"  # it then takes nothing
    made = session("host")
    del os.environ["SDX_PLUGIN_FAULT"]
    assert made.get_providers() == [NAME, CPU] and operators(made) == []
    check(made)


def case_selection():
    for policy in range(7):
        settings = ort.SessionOptions()
        settings.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy(policy))
        made = ort.InferenceSession(model(), settings)
        assert made.get_providers() == [NAME, CPU], (policy, made.get_providers())
        check(made)

    def choose(offered, of_model, of_runtime, most):
        assert offered[-1].ep_name == CPU and of_model["graph_name"] == "g" and most == 8, (offered, of_model, most)
        return [device for device in offered if device.ep_metadata.get("kind") == "kernels"]

    settings = ort.SessionOptions()
    settings.set_provider_selection_policy_delegate(choose)
    made = ort.InferenceSession(model(opset=12), settings)
    check(made)
    assert counts()["kernels"] == 5, counts()


def case_dynamic_options():
    made = session("host")
    made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Efficient"})
    try:
        made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Wasteful"})
    except Exception as error:  # noqa: BLE001
        assert "unknown dynamic option ep.dynamic.workload_type = Wasteful" in str(error), error
    else:
        raise SystemExit("expected the provider's error")
    check(made)


def check_all_returned():
    gc.collect()
    left = counts()
    # ONNX Runtime itself keeps an allocator of each device, and data transfers of its own.
    own = () if OF_SARDONYX else ("allocators", "transfers")
    assert left.pop("factories") == 1 and (left.pop("transfers") == 1 or own), left
    assert not any(count for kind, count in left.items() if kind not in own), left


def main():
    ort.register_execution_provider_library("test", LIBRARY)
    globals()["case_" + sys.argv[1]]()
    check_all_returned()
    ort.unregister_execution_provider_library("test")
    assert not is_loaded()
    print("passed")


if __name__ == "__main__":
    main()
