"""examples/provider/run.py - runs a model on the example's provider: python run.py LIBRARY MODEL"""
import sys

import numpy
import onnxruntime

library, model = sys.argv[1:]
onnxruntime.register_execution_provider_library("example", library)
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "ExampleExecutionProvider"]

options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
options.add_provider_for_devices(devices, {})
session = onnxruntime.InferenceSession(model, options)
for part in session.get_provider_graph_assignment_info():
    for node in part.get_nodes():
        print(part.ep_name, node.op_type)

x = numpy.array([-4, 1, 9], numpy.float32)
print(session.run(None, {session.get_inputs()[0].name: x})[0])
