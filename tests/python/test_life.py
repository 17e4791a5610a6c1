"""The life of a session: pickling, fork, Ctrl-C, threads, context manager."""
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import onnx.parser
import pytest
import sardonyx

WEIGHTS = ", ".join(str(i % 7 - 3) for i in range(64 * 64))
MODEL = onnx.parser.parse_model(f"""
<ir_version: 10, opset_import: ["" : 21]>
life (float[N, 64] x) => (float[N, 64] y) <float[64, 64] w = {{{WEIGHTS}}}> {{ p = MatMul(x, w) y = Relu(p) }}
""").SerializeToString()
X = np.arange(32 * 64, dtype=np.float32).reshape(32, 64) / 100

ENDLESS = """
import numpy as np, onnx.parser, sardonyx
model = onnx.parser.parse_model('''
<ir_version: 10, opset_import: ["" : 21]>
endless (int64 trips, float[4] x) => (float[4] y) {
  y = Loop <body = step (int64 i, bool go, float[4] a) => (bool go_on, float[4] b) {
    go_on = Identity(go)
    b = Cos(a)
  }> (trips, , x)
}''')
session = sardonyx.InferenceSession(model.SerializeToString())
print("running", flush=True)
try:
    session.run(None, {"trips": np.int64(2**60), "x": np.ones(4, np.float32)})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def session(threads=2):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = threads
    return sardonyx.InferenceSession(MODEL, options)


def test_a_pickled_session_is_made_again_with_its_options():
    first = session(threads=1)
    again = pickle.loads(pickle.dumps(first))
    assert again.get_session_options().intra_op_num_threads == 1
    np.testing.assert_array_equal(again.run(None, {"x": X})[0], first.run(None, {"x": X})[0])


def test_a_session_works_after_fork():
    ours = session()
    want = ours.run(None, {"x": X})[0]
    child = os.fork()
    if child == 0:
        try:
            same = all(np.array_equal(ours.run(None, {"x": X})[0], want) for _ in range(5))
            os._exit(0 if same else 1)
        except BaseException:  # noqa: B036  (the child must not go on with the tests)
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(ours.run(None, {"x": X})[0], want)


def wait_until_busy(pid):
    """Until the process has computed for 0.2 s from now, however long others keep the processors from it."""
    def computed():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    begin = computed()
    while computed() < begin + 0.2:
        threading.Event().wait(0.01)


def test_ctrl_c_ends_a_long_run():
    # Background jobs of a shell ignore the signal; the interpreter must start with its default.
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout.readline() == "running\n"
    wait_until_busy(process.pid)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted\n"


def test_terminate_from_another_thread_ends_a_run():
    text = ENDLESS.split("'''")[1]
    endless = sardonyx.InferenceSession(onnx.parser.parse_model(text).SerializeToString())
    options = sardonyx.RunOptions()
    timer = threading.Timer(0.2, lambda: setattr(options, "terminate", True))
    timer.start()
    with pytest.raises(sardonyx.Fail, match="terminate"):
        endless.run(None, {"trips": np.int64(2**60), "x": np.ones(4, np.float32)}, options)
    timer.join()


def test_many_threads_share_one_session_and_get_the_same_bits():
    shared = session()
    want = shared.run(None, {"x": X})[0]
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(shared.run(None, {"x": X})[0], want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_session_says_so():
    with session() as inside:
        result = inside.run(None, {"x": X})[0]
    with pytest.raises(sardonyx.Fail, match="closed"):
        inside.run(None, {"x": X})
    assert result.shape == X.shape  # outputs outlive the session
