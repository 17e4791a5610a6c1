// ops/own_domain.h - the domain of operators that neither ONNX nor ONNX Runtime has. docs/saved_models.md describes
// them, and tools/schema/own_operators.py holds their schemas.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace sardonyx::ops {

inline constexpr std::string_view kOwnDomain = "ai.sardonyx";
inline constexpr std::int64_t kOwnOpset = 1;  // the newest; raised whenever an operator of the domain changes

// In a saved model a com.microsoft FusedConv or FusedGemm has this domain where ONNX Runtime's operator of the name has
// not its activation or element type; in a session both are the same operator.
void ToOwnDomain(Graph& graph);
void FromOwnDomain(Node& node);

}  // namespace sardonyx::ops
