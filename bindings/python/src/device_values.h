// bindings/python/src/device_values.h - tensors in memory of devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "session.h"

namespace sardonyx::python {

// A kind of memory: OrtMemoryInfoDeviceType, vendor, number of the device, OrtDeviceMemoryType.
using Place = std::tuple<int, std::uint32_t, int, int>;

// The memory of that kind, of the host or of a device of a registered library; std::runtime_error (in Python a
// RuntimeError) names it where there is none.
const OrtMemoryInfo* MemoryAt(const Place& place);
Place PlaceOf(const OrtValue* value);  // of a tensor
// Whether the CPU can read the tensor's memory.
bool IsOnHost(const OrtValue* value);
// A new tensor on the host with the same contents, type and shape.
ValuePtr CopyToHost(const OrtValue* value);

void AddDeviceValues(nb::class_<PyValue>& handle);

}  // namespace sardonyx::python
