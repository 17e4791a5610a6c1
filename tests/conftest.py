"""For all tests: `import onnxruntime` gives ONNX Runtime, so that no test compares Sardonyx with itself."""
import peer

peer.require()
