"""The report of a quantization as a single HTML page, without external files; in the style of `sardonyx profile`."""
import html
import json
import math

import numpy as np

from sardonyx.commands import files, layers
from sardonyx.commands.page_parts import SCRIPT, STYLE
from sardonyx.commands.terminal import byte_text, decibel_text, noise_text, share_text, time_text

_BARS = 64  # of a histogram
_CHART = (960, 220)
_LEAST_GAIN = 0.0005  # ms, below what the table shows


def write(path, work):
    files.write_text(path, _page(work))


def _cell(value, text=None):
    """A cell; with a number, it is sorted by that and aligned to the right."""
    if text is None:
        return f"<td>{html.escape(value)}</td>"
    number = "-1e9" if value is None or math.isnan(value) else f"{max(min(value, 1e9), -1e9):.9g}"
    return f'<td class="n" data-v="{number}">{html.escape(text)}</td>'


def _table(heads, rows, kind=""):
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "\n".join(f"<tr{attributes}>{''.join(cells)}</tr>" for attributes, cells in rows)
    return (f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody>'
            "</table></div>\n")


def _page(work):
    name = html.escape(work.request.model)
    parts = [_summary(work), _before_after(work), _choice(work), _search(work), _chart(work), _cost(work), _gain(work),
             _all_layers(work), _outputs(work)]
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>Quantization of {name}</title><style>{STYLE}</style></head><body>\n'
            f"<h1>{name}</h1>\n" + "".join(parts)
            + f'<script type="application/json" id="histograms">{_histograms(work)}</script>\n'
            f"<script>{SCRIPT}</script>\n</body></html>\n")


def _summary(work):
    samples, request = work.samples, work.request
    data = (f"{samples.count} samples from {html.escape(request.data)}" if request.data else
            f"<b>{samples.count} random samples: give data that is like what the model will see, as ranges and "
            "accuracy hold for random inputs only</b>")
    kept = sum(not layer.is_quantized for layer in work.layers)
    integers = len(work.layers) - kept
    return (f"<p>{html.escape(str(work.output))}: {html.escape(work.settings.text)}.</p>\n<p>{integers} of "
            f"{len(work.layers)} layers compute with integers{f', {kept} are left in float' if kept else ''}. Data: "
            f"{data}, {len(samples.calibration)} of them for ranges, {len(samples.comparison)} "
            f"{'others ' if samples.are_held_out else ''}to compare.</p>\n")


def _before_after(work):
    result = work.comparison
    tiles = [("size", byte_text(result.after.size), f"before: {byte_text(result.before.size)}",
              _ratio(result.before.size, result.after.size, "smaller", "larger"))]
    for label, before, after in (("a run here", result.before.here_ms, result.after.here_ms),
                                 ("a run in ONNX Runtime", result.before.peer_ms, result.after.peer_ms)):
        if after:
            tiles.append((label, time_text(after), f"before: {time_text(before)}",
                          _ratio(before, after, "faster", "slower")))
    peer = result.peer_accuracy
    tiles.append(("signal to noise (SQNR)", decibel_text(result.accuracy.sqnr),
                  f"in ONNX Runtime: {decibel_text(peer.sqnr)}" if peer else "", ""))
    if result.accuracy.agreement is not None:
        tiles.append(("same top-1", share_text(result.accuracy.agreement),
                      f"in ONNX Runtime: {share_text(peer.agreement)}" if peer else "",
                      f"of output {work.reference.ranked_text}"))
    cards = "".join(f'<div class="tile"><div class="note">{html.escape(label)}</div><div class="big">'
                    f'{html.escape(value)}</div><div>{html.escape(more)}</div><div class="note">{html.escape(note)}'
                    "</div></div>" for label, value, more, note in tiles)
    notes = "".join(f'<p class="note">{html.escape(note)}</p>\n'
                    for note in [result.peer_note, *result.notes] if note)
    return f'<h2>Before and after</h2>\n<div class="tiles">{cards}</div>\n{notes}'


def _ratio(before, after, better, worse):
    return f"{before / after:.2f}x {better}" if before >= after else f"{after / before:.2f}x {worse}"


def _choice(work):
    if len(work.tried) < 2:
        return ""
    rows = [(' class="chosen"' if at == work.chosen else "",
             [_cell(settings.text + (" (chosen)" if at == work.chosen else "")),
              _cell(accuracy.sqnr, decibel_text(accuracy.sqnr)),
              _cell(accuracy.agreement, share_text(accuracy.agreement)),
              _cell(before / after, f"{before / after:.2f}x")])
            for at, (settings, accuracy, (before, after)) in enumerate(work.tried)]
    return "<h2>What was tried</h2>\n" + _table(["", "SQNR", "same top-1", "speed"], rows)


def _search(work):
    if work.search is None:
        return ""
    rows = [("", [_cell(at, str(at + 1)), _cell(step.what), _cell(step.left, str(step.left)),
                  _cell(step.sqnr, decibel_text(step.sqnr)), _cell(step.agreement, share_text(step.agreement)),
                  _cell("yes" if step.is_met else "no")]) for at, step in enumerate(work.search.tried)]
    return ("<h2>Search for layers to leave in float</h2>\n"
            + _table(["", "what", "in float", "SQNR", "same top-1", "target met"], rows, "second"))


def _chart(work):
    """SQNR of each layer's output, from the first to the last."""
    points = [(at, one) for at, one in enumerate(work.layers) if one.sqnr is not None and math.isfinite(one.sqnr)]
    if len(points) < 2:
        return ""
    width, height = _CHART
    low = min(0.0, min(one.sqnr for _, one in points))
    high = max(one.sqnr for _, one in points) * 1.05 or 1.0

    def place(at, value):
        return at * width / max(len(work.layers) - 1, 1), height * (1 - (value - low) / (high - low or 1))

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(at, one.sqnr) for at, one in points))
    lines, step = "", 10 if high - low <= 80 else 20
    for value in range(int(math.ceil(low / step) * step), int(high) + 1, step):
        y = place(0, value)[1]
        lines += (f'<path d="M0 {y:.1f}H{width}" stroke="#e4e4e4"/>'
                  f'<text x="{width + 6}" y="{y + 4:.1f}">{value} dB</text>')
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{html.escape(one.name)}\n{one.op_type}, '
                   f"{decibel_text(one.sqnr)}</title></circle>"
                   for one, (x, y) in ((one, place(at, one.sqnr)) for at, one in points))
    return ("<h2>Signal to noise through the model</h2>\n<p class=\"note\">Behind each layer, from the first to the "
            "last; hold the pointer over a dot to see its name. A step down is a layer that loses accuracy.</p>\n"
            f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" width="{width + 70}" height="{height + 24}" '
            f'viewBox="-8 -10 {width + 70} {height + 24}">{lines}<polyline points="{line}" fill="none" '
            f'stroke="#1560d4" stroke-width="1.5"/><g fill="#1560d4">{dots}</g></svg>\n')


def _bar(share, most, colour="#e2553d"):
    width = 0 if not most or not math.isfinite(share) else 90 * max(share, 0) / most
    return f'<span class="track"><span class="bar" style="width:{width:.0f}px;background:{colour}"></span></span>'


def _cost(work):
    costly = [one for one in layers.by_cost(work.layers) if one.added]
    if not costly:
        return ""
    most = max((one.added for one in costly if math.isfinite(one.added)), default=0)
    rows = [("", [_cell(one.name), _cell(one.op_type),
                  _cell(one.added, noise_text(one.added)).replace("</td>", f" {_bar(one.added, most)}</td>"),
                  _cell(one.sqnr, decibel_text(one.sqnr))]) for one in costly[:15]]
    return ("<h2>Layers that cost most accuracy</h2>\n<p class=\"note\">How much noise a layer adds to that of the "
            "layers before it, as a share of its output's power. --exclude leaves a layer in float, and "
            "--target-sqnr looks for the ones that matter.</p>\n"
            + _table(["layer", "operator", "adds noise", "SQNR behind it"], rows))


def _gain(work):
    gains = sorted((one for one in work.layers if one.is_quantized and one.gain_ms is not None),
                   key=lambda one: -one.gain_ms)
    if not gains:
        return ""
    gains = [one for one in gains if one.gain_ms >= _LEAST_GAIN]
    if not gains:
        return ("<h2>Layers that bring most speed</h2>\n<p class=\"note\">No layer takes less time in integers here."
                "</p>\n")
    most = gains[0].gain_ms
    rows = [("", [_cell(one.name), _cell(one.op_type), _cell(one.float_ms, f"{one.float_ms:.3f}"),
                  _cell(one.integer_ms, f"{one.integer_ms:.3f}"),
                  _cell(one.gain_ms, f"{one.gain_ms:.3f}").replace("</td>",
                                                                   f" {_bar(one.gain_ms, most, '#3a9d5d')}</td>")])
            for one in gains[:15]]
    return ("<h2>Layers that bring most speed</h2>\n<p class=\"note\">Milliseconds of a run here, in float and in "
            "integers. The time of a layer includes those that became part of it.</p>\n"
            + _table(["layer", "operator", "float", "integers", "saves"], rows))


def _all_layers(work):
    rows = []
    for at, one in enumerate(work.layers):
        button = f'<button data-h="{at}">show</button>' if _has_histogram(work, one) else ""
        rows.append((f' id="layer{at}"', [
            _cell(at, str(at)), _cell(one.name), _cell(one.op_type),
            _cell("integers" if one.is_quantized else "float"), _cell(one.sqnr, _or_none(one.sqnr, decibel_text)),
            _cell(one.added, _or_none(one.added, noise_text)),
            _cell(one.weight_sqnr, _or_none(one.weight_sqnr, decibel_text)),
            _cell(one.low, _or_none(one.low, lambda value: f"{value:.4g}")),
            _cell(one.high, _or_none(one.high, lambda value: f"{value:.4g}")), f"<td>{button}</td>",
            _cell(one.float_ms, _or_none(one.float_ms, lambda value: f"{value:.3f}")),
            _cell(one.integer_ms, _or_none(one.integer_ms, lambda value: f"{value:.3f}")),
            _cell(one.part_of)]))
    heads = ["", "layer", "operator", "computes with", "SQNR", "adds noise", "SQNR of weights", "lowest", "highest",
             "histogram", "float ms", "integer ms", "timed with"]
    empty = [at for at in range(1, len(heads)) if all(_says_nothing(cells[at]) for _, cells in rows)]

    def told(row):
        return [one for at, one in enumerate(row) if at not in empty]
    return ("<h2>All layers</h2>\n<p class=\"note\">Click a column's head to sort. Ranges and histograms are those of "
            "a layer's output on the data; blue lines mark the range that integers cover.</p>\n"
            + _table(told(heads), [(attributes, told(cells)) for attributes, cells in rows], "second"))


def _says_nothing(cell):
    return cell.count("<") == 2 and cell.endswith("></td>")


def _or_none(value, text):
    return "" if value is None else text(value)


def _has_histogram(work, layer):
    known = work.workshop.histograms
    return known is not None and layer.output in known.of and known.of[layer.output][0].sum() > 0


def _histograms(work):
    """Of each layer by its number: the shares of values in bars, the ends of these, and the range of integers."""
    found, known = {}, work.workshop.histograms
    ranges = known.ranges(work.settings.ranges) if known is not None and work.settings.ranges else {}
    for at, layer in enumerate(work.layers):
        if not _has_histogram(work, layer):
            continue
        counts, edges, low, high, *_ = known.of[layer.output]
        low, high = float(low), float(high)
        span = high - low or 1.0
        middles = (edges[:-1] + edges[1:]) / 2
        places = np.clip(((middles - low) / span * _BARS).astype(int), 0, _BARS - 1)
        bars = np.bincount(places, counts, _BARS) / counts.sum()
        ends = [float(end) for end in ranges.get(layer.output, (low, high))]
        found[at] = {"bars": [float(f"{one:.3g}") for one in bars], "low": low, "high": high, "range": ends}
    return json.dumps(found).replace("<", "\\u003c")


def _outputs(work):
    found = work.comparison.accuracy.by_output
    if len(found) < 2:
        return ""
    peer = work.comparison.peer_accuracy
    rows = [("", [_cell(name), _cell(value, decibel_text(value)),
                  _cell(peer.by_output.get(name), decibel_text(peer.by_output[name])) if peer and name in peer.by_output
                  else "<td></td>"]) for name, value in found.items()]
    return "<h2>Outputs</h2>\n" + _table(["output", "SQNR", "in ONNX Runtime"], rows)
