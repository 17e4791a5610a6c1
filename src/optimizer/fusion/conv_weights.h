// optimizer/fusion/conv_weights.h - for rules that move a factor and a summand per channel into constants: into the
// weights and bias of a Conv or ConvTranspose, or of a product.
#pragma once

#include <optional>
#include <vector>

#include "optimizer/rules/rule.h"

namespace sardonyx::optimizer {

// The elements of a constant of a float type; empty for other types.
std::vector<double> FloatsOf(const Tensor& tensor);
// A tensor of a float type from doubles, rounded once.
Tensor TensorOfFloats(DType dtype, const Shape& shape, const std::vector<double>& values);
// One value for each of `channels`, from a constant that broadcasts to [N, C, spatial...] of `rank` axes along the
// channels only and adds no axis; empty if it is another one.
std::vector<double> PerChannel(const Tensor& constant, std::size_t rank, std::int64_t channels);

// A BatchNormalization, captured as scale, shift, mean, variance and $epsilon: it makes factor * (x - mean) + shift,
// that is factor * x + summand, of each channel. nullopt, with the reason said, if these are not constants of one
// length.
struct ChannelNorm {
  std::vector<double> factor, mean, shift, summand;
};
std::optional<ChannelNorm> ChannelNormOf(Match& match);

// A convolution y of x with weights w and perhaps a bias b, for a rule's match.
inline constexpr char kConvDefinition[] = "conv = y:(Conv(x, w, ?b) | ConvTranspose(x, w, ?b))";
// True if its weights and bias are constants that may be scaled; else the reason is said.
bool IsFoldableConv(Match& match);
// Its output channels.
std::int64_t ConvOutputChannels(const Match& match);
// Sets constants w and b that make the convolution compute factor[m] * (what it computed) + shift[m] for every output
// channel m. False, with the reason said, if a number is not finite or the sizes do not fit.
bool FoldIntoConv(Match& match, const std::vector<double>& factor, const std::vector<double>& shift);

}  // namespace sardonyx::optimizer
