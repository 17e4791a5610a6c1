"""`sardonyx quantize`."""
import json
import shutil
import tempfile
from pathlib import Path

from sardonyx.commands import comparison, layers, model_facts, page, speed
from sardonyx.commands.accuracy import Reference
from sardonyx.commands.calibration import Histograms
from sardonyx.commands.candidates import Workshop, choices
from sardonyx.commands.comparison import finite
from sardonyx.commands.failure import Failure
from sardonyx.commands.files import unfinished
from sardonyx.commands.outputs import check_place, output_path
from sardonyx.commands.samples import Reader, Samples
from sardonyx.commands.search import search
from sardonyx.commands.terminal import Progress, columns, decibel_text, noise_text, share_text, styled, time_text
from sardonyx.model import Model

_CLOSE = 3.0  # dB: of candidates as close as this to the best, the fastest is taken
_ENOUGH = 40.0  # dB: above that, noise does not matter any more
_POOR = 15.0  # dB
_SHOWN_LAYERS = 5
_QUICK = 0.3  # seconds of measuring each candidate


class Quantization:
    """The command at work; its fields are what the page shows."""

    def __init__(self, request, folder):
        self.request, self.folder = request, Path(folder)
        self.says = (lambda *_: None) if request.json else print
        model = Model(request.file)
        model.graph.fix_defaults()
        model_facts.refuse_quantized(model, request.model)
        model_facts.refuse_without_products(model, request.model)
        self.output = output_path(request, "int4" if request.method == "int4" else "int8")
        if request.report:
            check_place(Path(request.report), "--report")
        self.samples = Samples(request, model)
        self.tried, self.search, self.layers, self.comparison = [], None, [], None
        self._original = model

    def run(self):
        self._say_data()
        with Progress("running the original"):
            session = speed.make_session(self.request.file, self.request.threads)
            self.reference = Reference(session, self.samples, self.request.compare,
                                       model_facts.is_convolutional(self._original.graph))
        del session
        self._say_assumptions()
        with Progress("preparing the model"):
            copy = Model(self.request.file)
            copy.graph.fix_defaults()
            self.workshop = Workshop(copy, self.request.file, self.folder)
            self.request.excluded = model_facts.excluded_names(copy, self.workshop.prepared, self.request.exclude)
        self.settings, self.accuracy = self._chosen(choices(self.request, self.workshop))
        self.layers = layers.layers_of(self.workshop, self.settings)
        if self.request.target_sqnr or self.request.target_agreement:
            self._search()
        with unfinished(self.output) as unready:
            self._put(unready)
        self._measure()
        if self.request.report:
            page.write(self.request.report, self)

    # ---- data ----

    def _say_data(self):
        samples, request = self.samples, self.request
        self.says(styled("bold", "Data"))
        split = (f"{len(samples.calibration)} for ranges, {len(samples.comparison)} others to compare"
                 if samples.are_held_out else "the same for ranges and to compare")
        if request.data:
            self.says(f"  {samples.count} samples from {request.data}: {split}")
            if samples.random:
                self.says(styled("red", "  warning: ") + "the data lacks inputs "
                          + ", ".join(f"'{name}'" for name in samples.random) + ": they are random")
        else:
            self.says(styled("red", "  warning: ") + "no --data: the inputs are random, "
                      f"{samples.count} samples ({split}). Ranges and accuracy hold for such inputs, not for yours.")
        for name, limit in samples.limits.items():
            if limit:
                self.says(styled("dim", f"  '{name}' selects from a table of {limit} rows: numbers from 0 to "
                                        f"{limit - 1}"))

    def _say_assumptions(self):
        for text in self.samples.assumed:
            self.says(styled("dim", f"  {text}"))

    # ---- choice ----

    def _path(self, number):
        return self.folder / f"candidate{number}.onnx"

    def _chosen(self, options):
        """The best of these Settings and its Accuracy."""
        if any(one.method == "static" for one in options):
            numbers = self.samples.calibration
            with Progress("finding ranges") as progress:
                static = next(one for one in options if one.method == "static")
                self.workshop.histograms = Histograms(self.workshop.prepared_file, static.kinds,
                                                      Reader(self.samples, numbers, progress), self.folder,
                                                      self.workshop.is_large)
            options = self._without_infinite(options)
        feed = self.samples.feed(self.samples.comparison[0])
        original = speed.make_session(self.request.file, self.request.threads)
        for number, settings in enumerate(options):
            with Progress(f"trying {settings.method} {settings.ranges}".rstrip()):
                self.workshop.make(settings, self._path(number))
                session = speed.make_session(self._path(number), self.request.threads)
                accuracy = self.reference.evaluate(session)
                times = [None, None]
                if len(options) > 1:
                    times = speed.times_in_turns([original, session], feed, _QUICK)
            self.tried.append((settings, accuracy, times))
        best = max(range(len(options)), key=lambda at: self._merit(at, max(
            accuracy.sqnr for _, accuracy, _ in self.tried)))
        self.chosen = best
        settings, accuracy, _ = self.tried[best]
        self._say_choice()
        return settings, accuracy

    def _without_infinite(self, options):
        """The Settings without the nodes whose values are infinite, which have no range."""
        graph, found = self.workshop.prepared.graph, set()
        for name in self.workshop.histograms.infinite:
            maker = graph.producer(name)
            found.update(node.name for node in [maker, *graph.consumers(name)] if node is not None)
        if found:
            self.says(styled("dim", f"  {len(found)} nodes with infinite values stay in float: {_some(sorted(found))}"))
        return [one.without(found) if one.method == "static" else one for one in options]

    def _merit(self, at, highest):
        """Candidates near the best, or good enough, come first, those of the faster method in front; then by SQNR.
        Ranges do not change the speed, so that differences within a method are those of the moment."""
        settings, accuracy, _ = self.tried[at]
        is_close = accuracy.sqnr >= min(highest - _CLOSE, _ENOUGH)
        speeds = [before / after for one, _, (before, after) in self.tried if one.method == settings.method and after]
        return is_close, max(speeds, default=0.0) if is_close else 0.0, accuracy.sqnr

    def _say_choice(self):
        self.says("\n" + styled("bold", "How"))
        if len(self.tried) > 1:
            rows = [["", "tried", "SQNR", "same top-1", "speed"]]
            for at, (settings, accuracy, (before, after)) in enumerate(self.tried):
                rows.append(["->" if at == self.chosen else "", f"{settings.method} {settings.ranges}".rstrip(),
                             decibel_text(accuracy.sqnr), share_text(accuracy.agreement), f"{before / after:.2f}x"])
            self.says(columns(rows))
        self.says(f"  {self.tried[self.chosen][0].text}")
        if self.request.excluded:
            self.says(f"  excluded: {len(self.request.excluded)} nodes ({_some(self.request.excluded)})")

    # ---- search ----

    def _meets(self, accuracy):
        request = self.request
        return ((not request.target_sqnr or accuracy.sqnr >= request.target_sqnr)
                and (not request.target_agreement or (accuracy.agreement or 0) >= request.target_agreement))

    def _search(self):
        request = self.request
        if request.target_agreement and self.reference.ranked is None:
            raise Failure("--target-agreement: no output has a largest element to compare: use --target-sqnr")
        path = self._path(self.chosen)
        with Progress("measuring layers") as progress:
            layers.measure_noise(self.layers, self.workshop, self.settings, path, self.samples, progress)
            if request.seconds > 0:
                feed = self.samples.feed(self.samples.comparison[0])
                layers.measure_times(self.layers, self.workshop, path, request.threads, feed, self.folder)
        order = layers.by_blame(self.layers, self.workshop.prepared.graph)
        gains = {layer.name: layer.gain_ms or 0.0 for layer in self.layers}
        trial = self.folder / "trial.onnx"
        with Progress("searching for layers to leave in float") as progress:
            def evaluate(names):
                progress((len(self.search_steps) + 1) / request.evaluations)
                self.search_steps.append(names)
                self.workshop.make(self.settings.without(names), trial)
                return self.reference.evaluate(speed.make_session(trial, request.threads))

            self.search_steps = []
            self.search = search(order, gains, evaluate, self._meets, request.evaluations, self.accuracy,
                                 {layer.name: layer.added or 0.0 for layer in self.layers}, request.target_sqnr or None)
        self._say_search()
        if self.search.found:
            self.settings = self.settings.without(self.search.found)
            for layer in self.layers:
                layer.is_quantized = layer.is_quantized and layer.name not in self.search.found

    def _say_search(self):
        found, request = self.search, self.request
        target = " and ".join(text for text in (
            f"{request.target_sqnr:g} dB" if request.target_sqnr else "",
            f"{share_text(request.target_agreement)} of the same top-1" if request.target_agreement else "") if text)
        self.says("\n" + styled("bold", f"Search for {target}"))
        rows = [["layers in float", "SQNR", "same top-1", ""]]
        rows += [[str(step.left), decibel_text(step.sqnr), share_text(step.agreement),
                  ("ok: " if step.is_met else "no: ") + step.what] for step in found.tried]
        self.says(columns(rows))
        if found.found is None:
            best = max(found.tried, key=lambda step: step.sqnr)
            raise Failure(f"the target of {target} was not met in {len(found.tried)} evaluations: the best had "
                          f"{decibel_text(best.sqnr)} and {share_text(best.agreement)} of the same top-1 with "
                          f"{best.left} of {len(self.layers)} layers in float. Nothing was written: lower the target, "
                          "or give data that is like what the model will see")
        if found.found:
            self.says(f"  left in float: {_some(found.found)}")

    # ---- result ----

    def _put(self, unready):
        """The model that was chosen at its place: that of the trial, or made again if weights lie beside it."""
        if self.workshop.is_large or (self.search and self.search.found):
            with Progress("writing the model"):
                self.workshop.make(self.settings, unready)
        else:
            shutil.copyfile(self._path(self.chosen), unready)

    def _measure(self):
        request = self.request
        self.comparison = comparison.compare(request, self.output, self.samples, self.reference)
        with Progress("measuring layers") as progress:
            layers.measure_noise(self.layers, self.workshop, self.settings, self.output, self.samples, progress)
            if request.seconds > 0:
                feed = self.samples.feed(self.samples.comparison[0])
                layers.measure_times(self.layers, self.workshop, self.output, request.threads, feed, self.folder)
        if request.json:
            print(json.dumps(self.as_json(), indent=2))
            return
        comparison.show(self.comparison, self.reference)
        self._show_layers()
        print("\nwrote " + styled("bold", str(self.output)))
        if request.report:
            print("wrote " + styled("bold", request.report))
        elif self.comparison.accuracy.sqnr < _POOR:
            print("try --report report.html to see which layers cost most, and --target-sqnr to leave them in float")

    def _show_layers(self):
        costly = [layer for layer in layers.by_cost(self.layers) if layer.added][:_SHOWN_LAYERS]
        if costly:
            print("\n" + styled("bold", f"Layers that cost most accuracy (of {len(self.layers)})"))
            print(columns([["layer", "operator", "adds noise of", "SQNR behind it"]] + [
                [one.name, one.op_type, noise_text(one.added), decibel_text(one.sqnr)] for one in costly]))
        gains = sorted((one for one in self.layers if one.is_quantized and one.gain_ms is not None),
                       key=lambda one: -one.gain_ms)[:_SHOWN_LAYERS]
        if gains:
            print("\n" + styled("bold", "Layers that bring most speed"))
            print(columns([["layer", "operator", "float", "integers", "saves"]] + [
                [one.name, one.op_type, time_text(one.float_ms), time_text(one.integer_ms),
                 time_text(one.gain_ms) if one.gain_ms > 0 else "nothing"] for one in gains]))

    def as_json(self):
        request = self.request
        steps = [] if self.search is None else [
            {"layers_in_float": step.left, "sqnr_db": finite(step.sqnr), "top1_agreement": step.agreement,
             "met": step.is_met} for step in self.search.tried]
        return {
            "model": request.model, "output": str(self.output), "report": request.report or None,
            "method": self.settings.method, "ranges": self.settings.ranges or None,
            "reduce_range": self.settings.reduce_range, "description": self.settings.text,
            "samples": {"count": self.samples.count, "calibration": len(self.samples.calibration),
                        "comparison": len(self.samples.comparison), "random_inputs": self.samples.random},
            "left_in_float": sorted(self.settings.excluded), "search": steps,
            **comparison.as_json(self.comparison),
            "layers": [{"node": one.name, "op_type": one.op_type, "quantized": one.is_quantized,
                        "sqnr_db": finite(one.sqnr), "added_noise": finite(one.added), "lowest": one.low,
                        "highest": one.high, "float_ms": one.float_ms, "integer_ms": one.integer_ms}
                       for one in self.layers]}


def _some(names, most=4):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def run(request):
    with tempfile.TemporaryDirectory(prefix="work_", dir=request.folder) as folder:
        Quantization(request, folder).run()
