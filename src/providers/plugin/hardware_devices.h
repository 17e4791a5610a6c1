// providers/plugin/hardware_devices.h - the devices of this machine that providers may use: its CPU, GPUs and NPUs.
#pragma once

#include <deque>
#include <filesystem>
#include <span>

#include "capi/handles/ep_device.h"

namespace sardonyx::plugin {

// Found on the first call, the CPU first; they live as long as the process. Thread-safe.
std::span<const OrtHardwareDevice* const> HardwareDevices();

// What the Linux kernel's tree of devices (usually /sys) shows: the cards of its graphics drivers, then its
// accelerators.
std::deque<OrtHardwareDevice> DevicesOfSystem(const std::filesystem::path& sys);

}  // namespace sardonyx::plugin
