// ir/identifier.h - how names are written in ONNX's text syntax.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx {

// A letter or underscore, then letters, digits and underscores (ASCII only).
bool IsIdentifier(std::string_view text);
// In double quotes; quotes and backslashes get a backslash before them, everything else stays as it is.
std::string Quoted(std::string_view text);
std::string QuotedUnlessIdentifier(std::string_view text);

}  // namespace sardonyx
