// ops/shapes/layout_images.h - how operators that know what a channel is behave on channels-last images: their nodes
// move to com.ms.internal.nhwc.
#pragma once

#include "ops/layout.h"

namespace sardonyx::ops {

// The images that the kernels of convolutions, pools and norms compute with.
bool IsFloatImage(const Type& type);
bool IsQuantizedImage(const Type& type);

// The node becomes the operator of the same name on channels-last images (ops/channels_last.h).
void MoveToChannelsLast(const LayoutChange& c);
// It has an attribute that says so.
void SetChannelsLast(const LayoutChange& c);

// A convolution reads and writes either layout; the one that is not channels last costs it most of a transposition. A
// depthwise convolution has one layout.
bool DescribeConv(const Graph& graph, const Node& node, std::size_t weights, NodeLayout& layout);
void ChangeConv(const LayoutChange& c);
// Of floats: weights are input 1, and input 3 is what is added to the result.
extern const LayoutDef kFloatConvLayout;

extern const LayoutDef kMovedLayout;       // images of all types
extern const LayoutDef kMovedFloatLayout;  // of floats

}  // namespace sardonyx::ops
