"""Tables of ranges in the files that NVIDIA's provider reads."""
import json
import os

import numpy as np

from sardonyx.quantization.calibration_data import CalibrationCacheEncoder


def write_calibration_table(calibration_cache, dir="."):
    """Writes the largest value of each tensor (TensorsData, or TensorData by name) to calibration.cache (text) and
    calibration.flatbuffers, and all that is known of it to calibration.json, in the folder `dir`. It needs the package
    flatbuffers."""
    with open(os.path.join(dir, "calibration.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(calibration_cache, cls=CalibrationCacheEncoder))
    largest = {}
    for name in sorted(calibration_cache.keys()):
        entry = calibration_cache[name].to_dict()
        largest[name] = str(max(float(np.asarray(entry.get(key, 0.0)).item()) for key in ("highest", "lowest")))
    with open(os.path.join(dir, "calibration.flatbuffers"), "wb") as file:
        file.write(_as_flatbuffer(largest))
    with open(os.path.join(dir, "calibration.cache"), "w", encoding="utf-8") as file:
        file.writelines(f"{name} {value}\n" for name, value in largest.items())


def _as_flatbuffer(texts):
    """A table with a vector of tables, each with a key and a value."""
    import flatbuffers

    builder, entries = flatbuffers.Builder(1024), []
    for key, value in texts.items():
        offsets = builder.CreateString(key), builder.CreateString(value)
        builder.StartObject(2)
        for slot, offset in enumerate(offsets):
            builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
        entries.append(builder.EndObject())
    builder.StartVector(4, len(entries), 4)
    for entry in entries:
        builder.PrependUOffsetTRelative(entry)
    vector = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, vector, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())
