// plugins/onednn/window.cpp - the windows of convolutions and pools along the spatial axes.
#include "window.h"

#include <algorithm>

namespace sardonyx_onednn {

Dims Window::OneDnnDilations() const {
  Dims between = dilations;
  for (std::int64_t& each : between) --each;
  return between;
}

Window WindowOf(const Node& node, const Dims& kernel, const Dims& spatial) {
  const std::size_t rank = spatial.size();
  Window window;
  window.kernel = kernel;
  window.strides = node.Ints("strides", Dims(rank, 1));
  window.dilations = node.Ints("dilations", Dims(rank, 1));
  const Dims pads = node.Ints("pads", Dims(2 * rank, 0));
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET") return window;
  for (std::size_t i = 0; i < rank; ++i) {
    window.begin[i] = window.end[i] = 0;
    if (auto_pad == "VALID") continue;
    const std::int64_t result = (spatial[i] + window.strides[i] - 1) / window.strides[i];
    const std::int64_t reach = (kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t pad = std::max<std::int64_t>((result - 1) * window.strides[i] + reach - spatial[i], 0);
    window.begin[i] = auto_pad == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    window.end[i] = pad - window.begin[i];
  }
  return window;
}

Dims SlideOver(const Builder& builder, const Node& node, const Window& window, const Dims& spatial, bool round_up) {
  Dims result;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t room = spatial[i] + window.begin[i] + window.end[i] - reach;
    if (room < 0)
      builder.Fail(node, "expected a kernel that fits into the padded input " + Show(spatial) + ", found " +
                             Show(window.kernel));
    const std::int64_t stride = window.strides[i];
    std::int64_t size = (room + (round_up ? stride - 1 : 0)) / stride + 1;
    if (round_up && (size - 1) * stride >= spatial[i] + window.begin[i]) --size;
    result.push_back(size);
  }
  return result;
}

std::string WindowRefusal(const Node& node, std::size_t spatial_rank) {
  const auto all = [&](std::string_view attribute, std::size_t count, std::int64_t least) {
    const Dims numbers = node.Ints(attribute, Dims(count, least));
    return numbers.size() == count && std::all_of(numbers.begin(), numbers.end(), [&](auto n) { return n >= least; });
  };
  if (!all("strides", spatial_rank, 1) || !all("dilations", spatial_rank, 1)) return "its strides or dilations";
  if (!all("pads", 2 * spatial_rank, 0)) return "its pads";
  if (node.Has("kernel_shape") && !all("kernel_shape", spatial_rank, 1)) return "its kernel_shape";
  const std::string auto_pad = node.Text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER")
    return "its auto_pad";
  return "";
}

}  // namespace sardonyx_onednn
