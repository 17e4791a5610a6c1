// optimizer/passes/fuse/fuse_pad.cpp - a Pad of the image before Conv, QLinearConv, MaxPool or AveragePool becomes the
// reader's own pads.
#include <algorithm>
#include <limits>

#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

using Ints = std::vector<std::int64_t>;

// What the Pad adds around [N, C, spatial...]: begins, then ends, of the spatial axes; nullopt if it does other things.
std::optional<Ints> SpatialPads(const Match& m) {
  const Type& x = m.type("x");
  const auto pads = m.ints("pads");
  if (!x.has_rank || x.rank() < 3 || !pads) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(x.rank());
  Ints axes(x.rank());
  for (std::int64_t i = 0; i < rank; ++i) axes[static_cast<std::size_t>(i)] = i;
  if (m.Has("axes")) {
    const auto given = m.ints("axes");
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  const std::size_t spatial = x.rank() - 2;
  Ints result(2 * spatial, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    const std::int64_t begin = (*pads)[i], end = (*pads)[i + axes.size()];
    if (begin < 0 || end < 0 || (axis < 2 && (begin != 0 || end != 0))) return std::nullopt;
    if (axis < 2) continue;
    result[static_cast<std::size_t>(axis - 2)] += begin;
    result[static_cast<std::size_t>(axis - 2) + spatial] += end;
  }
  return result;
}

// True if the reader treats its own pads as the Pad does its: pads with zeros, for sums, or `value`.
bool PadsAlike(Match& m, double value, bool (*alike)(const Match&, const Ints& own, const Ints& added)) {
  const auto added = SpatialPads(m);
  const std::optional<double> filled = m.Has("value") ? m.scalar("value") : 0.0;
  if (!added || !filled) return m.No("the Pad does not add a constant around the image");
  const AttributeValue *auto_pad = m.attribute("auto_pad"), *pads = m.attribute("pads");
  const auto* mode = auto_pad != nullptr ? std::get_if<std::string>(auto_pad) : nullptr;
  const bool explicit_pads = mode == nullptr || *mode == "NOTSET" || *mode == "VALID" || mode->empty();
  Ints own = pads != nullptr && std::holds_alternative<Ints>(*pads) ? std::get<Ints>(*pads) : Ints();
  if (own.empty()) own.assign(added->size(), 0);
  if (!explicit_pads || own.size() != added->size() || *filled != value || !alike(m, own, *added))
    return m.No("it would pad with something other than the Pad does");
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += (*added)[i];
  m.SetAttribute("pads", own);
  return true;
}

// Pads of a pool must be smaller than its window.
bool FitWindow(const Match& m, const Ints& own, const Ints& added) {
  const AttributeValue* value = m.attribute("kernel");
  const Ints kernel = value != nullptr && std::holds_alternative<Ints>(*value) ? std::get<Ints>(*value) : Ints();
  for (std::size_t i = 0; i < added.size(); ++i)
    if (kernel.empty() || own[i] + added[i] >= kernel[i % kernel.size()]) return false;
  return true;
}
bool CountsPads(const Match& m, const Ints& own, const Ints& added) {
  const bool none = std::all_of(own.begin(), own.end(), [](std::int64_t p) { return p == 0; });
  return (none || m.IntAttribute("counts", 0) != 0) && FitWindow(m, own, added);
}

bool OfConv(Match& m) {
  return PadsAlike(m, 0, [](const Match&, const Ints&, const Ints&) { return true; });
}
bool OfQLinearConv(Match& m) {
  const std::optional<double> zero = m.scalar("xz");
  if (!zero) return m.No("the zero point of the image is not constant");
  return PadsAlike(m, *zero, [](const Match&, const Ints&, const Ints&) { return true; });
}
bool OfMaxPool(Match& m) { return PadsAlike(m, -std::numeric_limits<double>::infinity(), FitWindow); }
bool OfAveragePool(Match& m) { return PadsAlike(m, 0, CountsPads); }

constexpr char kPad[] = "pad = Pad(x, pads, ?value, ?axes; mode=\"constant\")";

constexpr Rule kRules[] = {
    {.name = "of a convolution",
     .match = {"y:Conv(pad, w, ?b; pads=$pads, auto_pad=$auto_pad)", kPad},
     .replace = "$y(x, w, ?b; pads=$pads, auto_pad=$none)",
     .when = OfConv,
     .shares = true},
    {.name = "of a quantized convolution",
     .match = {"y:QLinearConv(pad, xs, xz, w, ws, wz, ys, yz, ?b; pads=$pads, auto_pad=$auto_pad)", kPad},
     .replace = "$y(x, xs, xz, w, ws, wz, ys, yz, ?b; pads=$pads, auto_pad=$none)",
     .when = OfQLinearConv,
     .shares = true},
    {.name = "of a maximum",
     .match = {"y:MaxPool(pad; pads=$pads, auto_pad=$auto_pad, ceil_mode=0, kernel_shape=$kernel)", kPad},
     .replace = "$y(x; pads=$pads, auto_pad=$none)",
     .when = OfMaxPool,
     .shares = true},
    {.name = "of a mean",
     .match = {"y:AveragePool(pad; pads=$pads, auto_pad=$auto_pad, ceil_mode=0, kernel_shape=$kernel, "
               "count_include_pad=$counts)",
               kPad},
     .replace = "$y(x; pads=$pads, auto_pad=$none, count_include_pad=1)",
     .when = OfAveragePool,
     .shares = true},
};

}  // namespace

constinit const Pass kFusePad = {.name = "fuse_pad", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
