// runtime/devices/border_copy.h - a copy of an input or output that lies on a device which the session does not know.
#pragma once

#include <cstddef>
#include <functional>

#include "tensor/device.h"
#include "tensor/stream.h"

namespace sardonyx::runtime {

struct BorderCopy {
  std::size_t port = 0;  // of the session: an input, if the copy comes before the run, an output if after it
  Device from, to;
  // Gives the work to a stream of one of the two devices; with null it is done when this returns.
  std::function<void(Stream*)> copy;
  bool given = false;  // the run has called it
};

}  // namespace sardonyx::runtime
