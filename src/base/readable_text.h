// base/readable_text.h - makes texts that contain names from a model fit for logs and terminals.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx {

// `text` with control characters and bytes that are not UTF-8 as \xNN (line ends and tabs stay), quoted parts ('...')
// of more than 300 bytes shortened in their middle, and the whole at most 4,000 bytes.
std::string ReadableText(std::string_view text);

}  // namespace sardonyx
