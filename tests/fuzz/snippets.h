// tests/fuzz/snippets.h - graphs as exporters write them, for passes to find: ONNX text with placeholders for sizes.
//
//   $n, $hd, $2d   the size named n; the product of those named h and d; twice d
//   @s, @u, @i     a scale, a zero point of uint8, one of int8
//
// A graph's inputs are taken from what has grown so far, or are new ones; those whose names begin with w are constants
// (mostly), with m masks, with i indices of 0 and 1.
#pragma once

#include <span>

namespace sardonyx::fuzz {

std::span<const char* const> AttentionSnippets();
std::span<const char* const> FloatSnippets();
std::span<const char* const> QuantizedSnippets();

}  // namespace sardonyx::fuzz
