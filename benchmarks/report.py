"""benchmarks/report.py - prints the tables of `make bench`. Ratios are a peer's time / ours: above 1 is better."""
import math
import statistics

import ceilings
import single_nodes

NOISY = 0.15  # a share of the cores that others use, or a spread of the ratios, that is worth a word


def machine_text(machine):
    cpu = machine["cpu"]
    lines = [f"machine: {cpu['model']}, {cpu['cores']} cores; {' '.join(cpu['flags'])}",
             f"Sardonyx against {peers_text(machine['versions'])} in turns, all with the same cores and threads, "
             "another input on every run",
             "", "ceilings (benchmarks/peak)".ljust(34) + "".join(f"{f'{n} thr':>10}" for n in columns(machine))]
    for name, row in machine["ceilings"].items():
        values = "".join(f"{format(row[n], '.1f') if row.get(n) else '-':>10}" for n in columns(machine))
        lines.append(f"  {name:<24}{row['unit']:<8}{values}")
    return "\n".join(lines) + "\n"


def peers_text(versions):
    second = f" and OpenVINO {versions['openvino']} (float32)" if "openvino" in versions else ""
    return f"ONNX Runtime {versions['onnxruntime']}{second}"


def columns(machine):
    first = next(iter(machine["ceilings"].values()))
    return [key for key in first if key.isdigit()]


def time_text(ms):
    return f"{ms:.3f}" if ms < 10 else f"{ms:.1f}"


def geometric_mean(values):
    values = list(values)
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else float("nan")


def models_text(results):
    if not results:
        return ""
    head = (f"{'model':<38}{'thr':>3}{'ours ms':>10}{'ORT ms':>10}{'speed':>7} {'quartiles':<12}"
            f"{'OV ms':>9}{'best':>6}{'start ms':>9}{'ORT':>8}{'ratio':>6}{'peak MB':>9}{'ORT':>7}{'ratio':>6}"
            f"{'process':>9}{'ORT':>8}{'ratio':>6}  error")
    lines = [head, "-" * len(head)]
    for row in results:
        lines += model_lines(row)
    return "\n".join(lines + [""] + summary(results)) + "\n"


def model_lines(row):
    if "failure" in row:
        return [f"{row['name']:<38} FAILED: {row['failure']}"]
    lines = []
    for threads, measured in row["threads"].items():
        low, middle, high = measured["speed"]
        latency = measured["latency_ms"]
        line = (f"{row['name']:<38}{threads:>3}{time_text(latency['sardonyx']):>10}"
                f"{time_text(latency['onnxruntime']):>10}{middle:>7.2f} {f'{low:.2f}-{high:.2f}':<12}")
        line += openvino_cells(measured) + cells(measured.get("start_ms"), 9, 8)
        line += cells(row.get("peak_mb") if "start_ms" in measured else None, 9, 7)
        line += cells(row.get("process_ms") if "start_ms" in measured else None, 9, 8)
        lines.append(f"{line}  {error_text(measured)}{noise_text(measured)}")
    return lines


def openvino_cells(measured):
    """OpenVINO's time, and our speed against the better of the two peers."""
    if "openvino" not in measured:
        return f"{'refused' if 'openvino_refused' in measured else '-':>9}{best(measured):>6.2f}"
    return f"{time_text(measured['latency_ms']['openvino']):>9}{best(measured):>6.2f}"


def best(measured):
    """The ratio against the faster peer."""
    return min(measured["speed"][1], *(measured["openvino"][1:2] if "openvino" in measured else [math.inf]))


def cells(pair, width, other):
    if not pair:
        return " " * (width + other + 6)
    ratio = pair["onnxruntime"] / max(pair["sardonyx"], 1e-3)
    return f"{pair['sardonyx']:>{width}.1f}{pair['onnxruntime']:>{other}.1f}{ratio:>6.2f}"


def error_text(measured):
    if measured["problem"]:
        return f"DIFFERENT: {measured['problem']}"
    rows = f", {measured['unmatched']} unmatched rows" if measured["unmatched"] else ""
    return f"{measured['error']:.1e}{rows}"


def noise_text(measured):
    low, middle, high = measured["speed"]
    words = [f"others used {measured['others']:.0%}"] * (measured["others"] > NOISY)
    words += ["spread"] * ((high - low) / middle > 2 * NOISY)
    return f"  noisy: {', '.join(words)}" if words else ""


def summary(results):
    good = [row for row in results if "failure" not in row]
    lines = []
    for threads in sorted({count for row in good for count in row["threads"]}):
        here = {row["name"]: row["threads"][threads] for row in good if threads in row["threads"]}
        peers = {"speed": {name: measured["speed"][1] for name, measured in here.items()}}
        if any("openvino" in measured for measured in here.values()):
            peers["speed against the better peer"] = {name: best(measured) for name, measured in here.items()}
        for what, speeds in peers.items():
            worst = sorted(speeds, key=speeds.get)[:5]
            lines.append(f"{what}, {threads} thread{'s' * (threads > 1)}: geometric mean "
                         f"{geometric_mean(speeds.values()):.3f} of {len(speeds)} models; worst: "
                         + ", ".join(f"{name} {speeds[name]:.2f}" for name in worst))
    starts = {row["name"]: ratio(measured["start_ms"]) for row in good for measured in row["threads"].values()
              if "start_ms" in measured}
    peaks = {row["name"]: ratio(row["peak_mb"]) for row in good if "peak_mb" in row}
    processes = {row["name"]: ratio(row["process_ms"]) for row in good if "process_ms" in row}
    for what, values in (("start (session and first run)", starts), ("peak memory", peaks),
                         ("whole process beyond import numpy", processes)):
        if values:
            worst = sorted(values, key=values.get)[:5]
            lines.append(f"{what}: geometric mean {geometric_mean(values.values()):.3f}; worst: "
                         + ", ".join(f"{name} {values[name]:.2f}" for name in worst))
    imports = [[row["process_ms"][f"{engine} import"] for row in good if "process_ms" in row]
               for engine in ("sardonyx", "onnxruntime")]
    if imports[0]:
        lines.append("import beyond NumPy: {:.1f} ms, ONNX Runtime {:.1f} ms".format(*map(statistics.median, imports)))
    failed = [row["name"] for row in results if "failure" in row]
    if failed:
        lines.append(f"failed, in no mean: {' '.join(failed)}")
    return lines


def ratio(pair):
    return pair["onnxruntime"] / max(pair["sardonyx"], 1e-3)


def kernels_text(kernels, machine):
    if not kernels:
        return ""
    head = (f"{'single node (float32)':<38}{'thr':>3}{'ours ms':>10}{'ORT ms':>10}{'speed':>7} {'quartiles':<12}"
            f"{'share of FMA':>13}{'ORT':>7}  error")
    lines = [head, "-" * len(head)]
    for row in kernels:
        if "failure" in row:
            lines.append(f"{row['name']:<38}{row['threads']:>3} FAILED: {row['failure']}")
            continue
        low, middle, high = row["speed"]
        latency, limit = row["latency_ms"], ceilings.fma(machine, row["threads"])
        flops = single_nodes.NODES[row["name"]].flops()
        shares = [f"{flops / (latency[engine] * 1e6) / limit:.0%}" for engine in ("sardonyx", "onnxruntime")]
        lines.append(f"{row['name']:<38}{row['threads']:>3}{time_text(latency['sardonyx']):>10}"
                     f"{time_text(latency['onnxruntime']):>10}{middle:>7.2f} {f'{low:.2f}-{high:.2f}':<12}"
                     f"{shares[0]:>13}{shares[1]:>7}  {error_text(row)}{noise_text(row)}")
    return "\n".join(lines + convolution_sums(kernels, machine)) + "\n"


def convolution_sums(kernels, machine):
    """ResNet-50's convolutions together, each as often as the network has it."""
    lines = []
    for threads in sorted({row["threads"] for row in kernels}):
        rows = [(single_nodes.NODES[row["name"]], row) for row in kernels
                if row["threads"] == threads and single_nodes.NODES[row["name"]].count]
        if not rows or any("failure" in row for _, row in rows):
            continue
        flops = sum(node.flops() * node.count for node, _ in rows)
        limit = ceilings.fma(machine, threads)
        shares = []
        for engine in ("sardonyx", "onnxruntime"):
            ms = sum(row["latency_ms"][engine] * node.count for node, row in rows)
            shares.append(f"{engine} {ms:.1f} ms, {flops / (ms * 1e6) / limit:.0%} of FMA")
        count = sum(node.count for node, _ in rows)
        lines.append(f"{count} convolutions of ResNet-50, {threads} thread{'s' * (threads > 1)}, "
                     f"direct multiplications counted: {'; '.join(shares)}")
    return [""] + lines if lines else []
