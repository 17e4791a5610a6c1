"""How a program asks for the providers of a plug-in through the package `onnxruntime`: by devices, by name, by policy,
in the options and in the list of the session. test_named.py runs it with Sardonyx and with ONNX Runtime, and compares
what it prints.

usage: python named_cases.py LIBRARY
"""
import gc
import sys

import numpy as np
import onnx.parser
import onnxruntime as ort

NAME, CPU = "SdxTestProvider", "CPUExecutionProvider"
MODEL = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y, float[N, 4] b) <float[4] w = {1, 2, 3, 4}> {
  a = Mul (x, w)
  b = Add (a, x)
  c = Tanh (b)
  y = Neg (c)
}""").SerializeToString()
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def tell(what, action):
    try:
        answer = action()
    except Exception as error:  # noqa: BLE001  (compared)
        print(f"    {error}", file=sys.stderr)
        answer = "error"
    print(f"{what}: {answer}")


def told(session):
    y, b = session.run(None, {"x": X})
    parts = sorted((part.ep_name, len(part.get_nodes())) for part in session.get_provider_graph_assignment_info())
    return session.get_providers(), parts, round(float(y.sum() + b.sum()), 3)


def session(*changes, **keywords):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for change in changes:
        change(options)
    return ort.InferenceSession(MODEL, options, enable_fallback=0, **keywords)


def on(*devices, **values):
    return lambda options: options.add_provider_for_devices(list(devices), {k: str(v) for k, v in values.items()})


def named(name, **values):
    return lambda options: options.add_provider(name, values)


def policy(number):
    return lambda options: options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy(number))


def chosen(function):
    return lambda options: options.set_provider_selection_policy_delegate(lambda devices, *_: function(devices))


def names():
    return [name for name in ort.get_available_providers() if name != "AzureExecutionProvider"]


def tell_of_devices(host, card, cpu):
    for what, devices in (("host", [host]), ("card", [card]), ("two", [host, card]), ("twice", [host, host]),
                          ("the CPU", [cpu]), ("mixed", [cpu, host]), ("none", [])):
        tell(f"devices: {what}", lambda devices=devices: told(session(on(*devices))))
    tell("with options", lambda: told(session(on(host, operators="Mul"))))
    tell("the CPU first", lambda: told(session(on(cpu), on(host))))
    tell("the CPU last", lambda: told(session(on(host), on(cpu))))
    for changes in ([on(host)], [on(host, operators="Mul")], [on(host), on(cpu)]):
        tell("options", lambda changes=changes: sorted(session(*changes).get_provider_options().items()))


def tell_of_names(host, card):
    tell("available", names)
    tell("by name", lambda: told(session(named(NAME))))
    tell("by name, with options", lambda: told(session(named(NAME, operators="Mul"))))
    tell("no such name", lambda: told(session(named("Nobody"))))
    for providers in ([NAME], [NAME, CPU], [CPU, NAME], [(NAME, {"operators": "Mul"}), CPU], [CPU]):
        tell(f"providers {providers}", lambda providers=providers: told(session(providers=providers)))
        tell("their options", lambda providers=providers: sorted(session(
            providers=providers).get_provider_options().items()))
        # What the options have does not count then.
        tell("besides devices", lambda providers=providers: told(session(on(card),
                                                                         providers=providers)))

    def changed(first, providers, *rest):
        made = session(*first)
        made.set_providers(providers, *rest)
        return told(made)

    tell("set to the CPU", lambda: changed([on(host)], [CPU]))
    tell("set by name", lambda: changed([], [NAME]))
    tell("set with options", lambda: changed([on(host)], [NAME], [{"operators": "Add"}]))


def tell_of_choices(host, card, cpu):
    for number in range(7):
        tell(f"policy {number}", lambda number=number: told(session(policy(number))))
    tell("a policy and a device", lambda: told(session(on(host), policy(1))))
    for what, function in (("none", lambda devices: []), ("the CPU", lambda devices: [cpu]),
                           ("host", lambda devices: [host]), ("two", lambda devices: [host, card]),
                           ("an error", lambda devices: 1 / 0)):
        tell(f"chosen: {what}", lambda function=function: told(session(chosen(function))))


def main():
    tell("unregister what is not there", lambda: ort.unregister_execution_provider_library("test"))
    tell("a file that is not there", lambda: ort.register_execution_provider_library("test", "/nowhere/lib.so"))
    tell("a file of another kind", lambda: ort.register_execution_provider_library("test", __file__))
    tell("available", names)
    tell("register", lambda: ort.register_execution_provider_library("test", sys.argv[1]))
    tell("again", lambda: ort.register_execution_provider_library("test", sys.argv[1]))
    tell("under another name", lambda: ort.register_execution_provider_library("other", sys.argv[1]))
    tell("devices", lambda: [device.ep_name for device in ort.get_ep_devices()])
    tell("available", names)
    tell("unregister", lambda: ort.unregister_execution_provider_library("other"))
    devices = {device.ep_metadata.get("kind", device.ep_name): device for device in ort.get_ep_devices()}
    host, card, cpu = devices["host"], devices["card"], devices[CPU]
    tell_of_devices(host, card, cpu)
    tell_of_names(host, card)
    tell_of_choices(host, card, cpu)
    gc.collect()
    tell("unregister", lambda: ort.unregister_execution_provider_library("test"))
    tell("again", lambda: ort.unregister_execution_provider_library("test"))
    tell("devices", lambda: [device.ep_name for device in ort.get_ep_devices()])
    tell("available", names)
    print("end")


if __name__ == "__main__":
    main()
