"""benchmarks/growth_page.py - the figures of `make bench-growth` as a table and as a page of curves.

usage: growth_page.py GROWTH.json PAGE.html
"""
import html
import json
import math
import pathlib
import sys

import growth_models

STYLE = ("body{font:14px sans-serif;margin:2em;max-width:1200px}table{border-collapse:collapse}"
         "td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}"
         "td:first-child,th:first-child{text-align:left}.behind{color:#c30;font-weight:bold}"
         "svg text{font:11px sans-serif}svg{margin:0 8px 8px 0}h2{margin:1em 0 .2em}")
COLORS = {"sardonyx": "#06c", "onnxruntime": "#888"}
NAMES = {"sardonyx": "Sardonyx", "onnxruntime": "ONNX Runtime"}
# Figure: (title, unit); those below the least are shown as it, and are too small for ratios and slopes.
FIGURES = {"create_ms": ("session creation", "ms"), "start_ms": ("creation and first run", "ms"),
           "run_ms": ("run", "ms"), "new_ms": ("run with a new shape", "ms"),
           "peak_mb": ("peak memory", "MB"), "kept_mb": ("memory kept", "MB")}
LEAST = {"ms": 1e-3, "MB": 1.0}
BEHIND, STEEP = 1.05, 1.15  # ours / theirs, and the slope of a line on logarithmic axes, that are marked
WIDTH, HEIGHT = 216, 170

HEAD = (f"{'curve':<30}{'':<27}{'size':>8}{'ours':>12}{'ORT':>12}{'ORT/ours':>10}{'slope':>7}{'ORT':>7}")


def machine_text(machine):
    cpu = machine["cpu"]
    return (f"machine: {cpu['model']}, {cpu['cores']} cores; {' '.join(cpu['flags'])}; {machine['threads']} threads; "
            f"an engine stops at {machine['limit_s']:g} s")


def values(curve, figure, engine):
    """[(size, value)] of the points that have it."""
    least = LEAST[FIGURES[figure][1]]
    return [(point["size"], max(least, point[engine][figure])) for point in curve["points"]
            if figure in point.get(engine, {})]


def slope(points):
    """Of the last line on logarithmic axes: 1 is linear."""
    if len(points) < 2:
        return None
    (x0, y0), (x1, y1) = points[-2:]
    return math.log(y1 / y0) / math.log(x1 / x0)


def rows(curve):
    """(figure, largest common size, our value, theirs, our slope, theirs)"""
    for figure in FIGURES:
        ours, theirs = (values(curve, figure, engine) for engine in NAMES)
        if not ours:
            continue
        other = dict(theirs)
        size, value = ours[-1]
        yield figure, size, value, other.get(size), slope(ours), slope(theirs)


def number(value):
    return "over the limit" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def lines(curve):
    found = []
    for figure, size, ours, theirs, our_slope, their_slope in rows(curve):
        title, unit = FIGURES[figure]
        ratio = f"{theirs / ours:.2f}" if theirs else ""
        slopes = "".join(f"{'' if each is None else format(each, '.2f'):>7}" for each in (our_slope, their_slope))
        found.append(f"{curve['name']:<30}{f'{title}, {unit}':<27}{size:>8}{number(ours):>12}"
                     f"{number(theirs) if theirs else 'too slow':>12}{ratio:>10}{slopes}")
    return "\n".join(found)


def behind(curves):
    """(curve, figure, size, ours / theirs) of all points at which we are slower or larger."""
    for curve in curves:
        for figure in FIGURES:
            theirs = dict(values(curve, figure, "onnxruntime"))
            for size, ours in values(curve, figure, "sardonyx"):
                if size in theirs and ours > BEHIND * theirs[size]:
                    yield curve["name"], figure, size, ours / theirs[size]


def steep(curves):
    """(curve, figure, slope) of curves over nodes or shapes whose last decade grows faster than linear."""
    for curve in curves:
        for figure in FIGURES:
            ours = slope(values(curve, figure, "sardonyx"))
            if ours is not None and ours > STEEP and curve["name"] not in growth_models.RUNS:
                yield curve["name"], figure, ours


def summary(curves):
    late = [f"  {name}, {FIGURES[figure][0]}, {size}: {ratio:.2f} of ONNX Runtime's"
            for name, figure, size, ratio in behind(curves)]
    fast = [f"  {name}, {FIGURES[figure][0]}: size to the power of {power:.2f}"
            for name, figure, power in steep(curves)]
    return "\n".join(["behind ONNX Runtime:", *(late or ["  nowhere"]),
                      "faster than linear:", *(fast or ["  nothing"])])


def ticks(low, high):
    return [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def chart(curve, figure):
    """One SVG on logarithmic axes, with a grey line of linear growth through our last point."""
    title, unit = FIGURES[figure]
    series = {engine: values(curve, figure, engine) for engine in NAMES}
    everything = [point for points in series.values() for point in points]
    if len({size for size, _ in everything}) < 2:
        return ""
    x_ends = min(x for x, _ in everything), max(x for x, _ in everything)
    marks = ticks(min(y for _, y in everything), max(y for _, y in everything))
    bottom, top = marks[0], max(marks[-1], 10 * marks[0])

    def x_of(x):
        return WIDTH * math.log(x / x_ends[0]) / math.log(x_ends[1] / x_ends[0])

    def y_of(y):
        return HEIGHT * (1 - math.log(max(bottom, min(top, y)) / bottom) / math.log(top / bottom))

    drawn = [f"<path d='M0 0V{HEIGHT}H{WIDTH}' fill=none stroke='#888'/>"]
    for mark in marks:
        drawn.append(f"<path d='M0 {y_of(mark):.1f}H{WIDTH}' stroke='#eee'/><text x=-4 y={y_of(mark) + 4:.1f} "
                     f"text-anchor=end>{mark:g}</text>")
    for size in sorted({size for size, _ in everything}):
        drawn.append(f"<text x={x_of(size):.1f} y={HEIGHT + 14} text-anchor=middle>{short(size)}</text>")
    if series["sardonyx"]:
        size, value = series["sardonyx"][-1]
        line = [(x, value * x / size) for x, _ in series["sardonyx"]]
        drawn.append("<polyline fill=none stroke='#bbb' stroke-dasharray=3 points='"
                     + " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in line if bottom <= y <= top) + "'/>")
    for engine, points in series.items():
        drawn.append(f"<polyline fill=none stroke-width=2 stroke='{COLORS[engine]}' points='"
                     + " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points) + "'/>")
        drawn += [f"<circle r=3 fill='{COLORS[engine]}' cx={x_of(x):.1f} cy={y_of(y):.1f}><title>{NAMES[engine]}, "
                  f"{x}: {y:.3g} {unit}</title></circle>" for x, y in points]
    return (f"<svg viewBox='-48 -22 {WIDTH + 66} {HEIGHT + 42}' width={WIDTH + 66}><text x=0 y=-8 font-weight=bold>"
            f"{title}, {unit}</text>{''.join(drawn)}</svg>")


def short(size):
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def section(curve):
    charts = "".join(chart(curve, figure) for figure in FIGURES)
    return f"<h2>{html.escape(curve['name'])}</h2><div>over: {html.escape(curve['what'])}</div>{charts}"


def table(curves):
    found = []
    for curve in curves:
        for figure, size, ours, theirs, our_slope, their_slope in rows(curve):
            title, unit = FIGURES[figure]
            style = " class=behind" if theirs and ours > BEHIND * theirs else ""
            cells = [curve["name"], f"{title}, {unit}", short(size), number(ours), number(theirs),
                     f"{theirs / ours:.2f}" if theirs else ""]
            cells += ["" if each is None else f"{each:.2f}" for each in (our_slope, their_slope)]
            found.append(f"<tr{style}>" + "".join(f"<td>{html.escape(cell)}" for cell in cells))
    titles = ("curve", "figure", "largest size", "Sardonyx", "ONNX Runtime", "ONNX Runtime / Sardonyx",
              "slope, Sardonyx", "slope, ONNX Runtime")
    return f"<table><tr>{''.join(f'<th>{title}' for title in titles)}{''.join(found)}</table>"


def page(machine, curves):
    legend = " ".join(f"<span style='color:{COLORS[engine]}'>&#9632; {name}</span>" for engine, name in NAMES.items())
    return (f"<!doctype html><meta charset=utf-8><title>Cost of growth</title><style>{STYLE}</style>"
            f"<h1>Cost of growth</h1><p>{html.escape(machine_text(machine))}<p>{legend} &nbsp; both axes are "
            "logarithmic; the dashed line is linear growth. A curve that ends early reached the limit."
            f"<pre>{html.escape(summary(curves))}</pre>{''.join(map(section, curves))}"
            f"<h2>The largest sizes</h2><p>The slope is that of a curve's last line: 1 is linear.{table(curves)}\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kept = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(page(kept["machine"], kept["curves"]))


if __name__ == "__main__":
    main()
