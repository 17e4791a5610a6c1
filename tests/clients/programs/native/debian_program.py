"""Prints what GStreamer and TopPIC, in a file system of their own, make of videos and of mass spectra. The arguments
are this file system and, inside of it, the folder with the library that takes the place of Debian's."""
import os
import pathlib
import re
import subprocess
import sys
import zlib

ROOT = pathlib.Path(sys.argv[1])
ENVIRONMENT = {"LC_ALL": "C", "PATH": os.environ["PATH"], "GST_DEBUG_NO_COLOR": "1",
               "GST_REGISTRY": "/tmp/registry"}  # else each run looks for all plug-ins
ENVIRONMENT |= {"LD_LIBRARY_PATH": sys.argv[2]} if sys.argv[2:] else {}


def say(name, *values):
    print(f"result {name}:", *("_".join(str(value).split()) for value in values), flush=True)


def inside(*argv, **variables):
    """Runs a command with ROOT as its file system and this machine's list of processes; gives what it printed."""
    environment = ENVIRONMENT | variables
    command = ["unshare", "-m", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', ROOT, *argv]
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True,
                          errors="replace")
    print(done.stdout + done.stderr)
    if done.returncode != 0:
        raise SystemExit(f"{argv} ended with {done.returncode}")
    return done.stdout + done.stderr


def videos():
    for pattern in ("ball", "smpte", "zone-plate"):
        source = ["videotestsrc", "num-buffers=5", f"pattern={pattern}", "!",
                  "video/x-raw,format=RGB,width=96,height=96,framerate=5/1", "!", "onnxinference"]
        for level in ("disable-all", "enable-all"):
            drawn = ROOT / "tmp/drawn.raw"
            drawn.unlink(missing_ok=True)
            text = inside("/usr/bin/gst-launch-1.0", "-q", *source, "model-file=/models/detector.onnx",
                          f"optimization-level={level}", "!", "ssdtensordec", "!", "videoconvert", "!",
                          "objectdetectionoverlay", "!", "videoconvert", "!", "video/x-raw,format=RGB", "!",
                          "filesink", "location=/tmp/drawn.raw", GST_DEBUG="ssdtensordec:6")
            for number, (score, box) in enumerate(re.findall(r"score: ([\d.]+), bound box: (\S+ at \S+)", text)):
                say(f"GStreamer {pattern} {level} box {number}", score, box)
            say(f"GStreamer {pattern} {level} picture", zlib.crc32(drawn.read_bytes()))
            text = inside("/usr/bin/gst-launch-1.0", "-q", *source, "model-file=/models/classifier.onnx",
                          f"optimization-level={level}", "!", "classifiertensordecoder",
                          "labels-file=/models/labels.txt", "!", "fakesink", GST_DEBUG="classifiertensordecoder:6")
            found = re.findall(r"Max class is (\d+:\w+) with ([\d.]+)", text)
            say(f"GStreamer {pattern} {level} classes", *(word for pair in found for word in pair))


def spectra():
    for name, options in (("plain", []), ("strict", ["-t", "0.5", "-v", "0.3"])):
        for file in ROOT.glob("tmp/spectra*"):
            file.unlink()
        (ROOT / "tmp/spectra.mzML").write_bytes((ROOT / "models/spectra.mzML").read_bytes())
        inside("/usr/bin/topfd", "-g", *options, "/tmp/spectra.mzML")
        for kind in ("ms1.feature", "ms2.feature", "ms1.msalign", "ms2.msalign"):
            for number, line in enumerate((ROOT / f"tmp/spectra_{kind}").read_text().splitlines()):
                if line and not line.startswith("#"):  # the time among them
                    say(f"TopFD {name} {kind} {number}", *line.split("\t"))


if __name__ == "__main__":
    videos()
    spectra()
    print("end")
