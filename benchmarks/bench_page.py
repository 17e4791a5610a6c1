#!/usr/bin/env python3
"""benchmarks/bench_page.py - the figures of `make bench` as an HTML page with charts.

usage: benchmarks/bench_page.py RESULTS.json PAGE.html, where RESULTS.json is a file of benchmarks/results.
"""
import html
import json
import math
import pathlib
import sys

import report

STYLE = ("body{font:14px sans-serif;margin:2em;max-width:1100px}table{border-collapse:collapse}"
         "td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}"
         "td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}.behind{color:#c30;font-weight:bold}"
         "pre{white-space:pre-wrap}svg text{font:11px sans-serif}")
PEERS = {"onnxruntime": ("ONNX Runtime", "#888"), "openvino": ("OpenVINO", "#06c")}
LEFT, WIDTH, ROW = 290, 640, 18  # of charts: the names, the bars, and the height of a model
LEAST, MOST = 0.5, 8.0  # ratios at the ends of the axis, which is logarithmic


def x_of(ratio):
    clipped = min(MOST, max(LEAST, ratio))
    return LEFT + WIDTH * math.log(clipped / LEAST) / math.log(MOST / LEAST)


def chart(rows, colors):
    """Bars from 1 to each ratio: `rows` are (name, [ratios]), one color for each place in the list."""
    height = ROW * len(rows)
    lines = []
    for ratio in (0.5, 0.7, 1, 1.5, 2, 4, 8):
        lines.append(f"<path d='M{x_of(ratio):.0f} 0V{height}' stroke='{'#000' if ratio == 1 else '#ddd'}'/>"
                     f"<text x={x_of(ratio):.0f} y={height + 14} text-anchor=middle>{ratio:g}</text>")
    for index, (name, ratios) in enumerate(rows):
        top, each = ROW * index + 2, (ROW - 4) / len(colors)
        lines.append(f"<text x={LEFT - 8} y={top + 11} text-anchor=end>{html.escape(name)}</text>")
        for place, (ratio, color) in enumerate(zip(ratios, colors, strict=True)):
            if ratio is None:
                continue
            begin, end = sorted((x_of(1), x_of(ratio)))
            lines.append(f"<rect x={begin:.1f} y={top + place * each:.1f} width={max(1, end - begin):.1f} "
                         f"height={each:.1f} fill='{color}'><title>{html.escape(name)}: {ratio:.2f}</title></rect>")
    return f"<svg width={LEFT + WIDTH + 40} height={height + 20}>{''.join(lines)}</svg>"


def best(measured):
    return min(value for name, value in measured.items() if name in PEERS)


def speed_section(models, threads):
    here = {name: row["threads"][threads] for name, row in models.items() if threads in row["threads"]}
    peers = [name for name in PEERS if any(name in measured for measured in here.values())]
    means = ", ".join(f"{PEERS[name][0]} {report.geometric_mean(m[name] for m in here.values() if name in m):.2f}"
                      for name in peers)
    ordered = sorted(here, key=lambda name: best(here[name]))
    legend = " ".join(f"<span style='color:{PEERS[name][1]}'>&#9632; {PEERS[name][0]}</span>" for name in peers)
    rows = [(name, [here[name].get(each) for each in peers]) for name in ordered]
    return (f"<h2>Speed, {threads} thread{'s' * (threads != '1')}</h2><p>A peer's time / ours; right of 1, Sardonyx is "
            f"faster. Geometric means: {means}; the better peer of each model "
            f"{report.geometric_mean(map(best, here.values())):.2f}.<p>{legend}<br>"
            + chart(rows, [PEERS[name][1] for name in peers]))


def single_section(title, text, values):
    if not values:
        return ""
    rows = [(name, [values[name]]) for name in sorted(values, key=values.get)]
    return (f"<h2>{title}</h2><p>{text} Geometric mean: {report.geometric_mean(values.values()):.2f}.<br>"
            + chart(rows, ["#393"]))


def nodes_section(nodes):
    rows = [(name, threads, row) for name, node in nodes.items() for threads, row in node.items()]
    if not rows:
        return ""
    lines = "".join(f"<tr><td>{html.escape(name)}<td>{threads}<td>{report.time_text(row['ms'])}"
                    f"<td>{row['onnxruntime']:.2f}<td>{format(row['fma'], '.0%') if 'fma' in row else ''}"
                    for name, threads, row in rows)
    return ("<h2>Single nodes</h2><p>The share is that of the multiply-adds that the machine can do with as many "
            "threads, counted as in direct convolution.<table><tr><th>node<th>threads<th>ms<th>ONNX Runtime / ours"
            f"<th>share of the ceiling{lines}</table>")


def table(models):
    lines = []
    for name, row in models.items():
        for threads, measured in row["threads"].items():
            cells = [name, row["family"], threads, report.time_text(measured["ms"])]
            cells += [f"{measured[key]:.2f}" if key in measured else "" for key in ("onnxruntime", "openvino", "start")]
            cells += [f"{row[key]:.2f}" if key in row else "" for key in ("peak", "process")]
            cells.append(f"{measured['error']:.0e}")
            style = " class=behind" if best(measured) < 0.97 else ""
            lines.append(f"<tr{style}>" + "".join(f"<td>{html.escape(cell)}" for cell in cells))
    titles = ("model", "family", "threads", "ours, ms", "ONNX Runtime / ours", "OpenVINO / ours", "start",
              "peak memory", "process", "difference")
    return f"<h2>All figures</h2><table><tr>{''.join(f'<th>{title}' for title in titles)}{''.join(lines)}</table>"


def page(kept):
    models, machine = kept["models"], kept["machine"]
    counts = sorted({threads for row in models.values() for threads in row["threads"]}, key=int)
    starts = {name: measured["start"] for name, row in models.items() for measured in row["threads"].values()
              if "start" in measured}
    peaks, processes = ({name: row[key] for name, row in models.items() if key in row} for key in ("peak", "process"))
    note = f"<p>{html.escape(machine['note'])}" if machine["note"] else ""
    text = html.escape(report.machine_text(machine))
    return (f"<!doctype html><meta charset=utf-8><title>Speed of Sardonyx</title><style>{STYLE}</style>"
            f"<h1>Speed of Sardonyx, {kept['date']}</h1><pre>{text}</pre>{note}"
            + "".join(speed_section(models, threads) for threads in counts)
            + single_section("Start", "ONNX Runtime's time to create a session and run it once / ours.", starts)
            + single_section("Peak memory", "ONNX Runtime's / ours.", peaks)
            + single_section("Whole process", "From the start of Python to its end, beyond a process that only imports "
                             "NumPy: ONNX Runtime's time / ours.", processes)
            + nodes_section(kept["nodes"]) + table(models) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[2]).write_text(page(json.loads(pathlib.Path(sys.argv[1]).read_text())))


if __name__ == "__main__":
    main()
