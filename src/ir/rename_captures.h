// ir/rename_captures.h - makes a body that moves to another graph capture the values of that graph.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ir/graph.h"

namespace sardonyx {

using NewNames = std::map<std::string, std::string, std::less<>>;

// Each value that `body` captures takes the new name of what it captures, all at once: names may be exchanged, and
// several values may become one. Bodies inside follow. A value of the body that has such a name gets another one.
void RenameCaptures(Graph& body, const NewNames& new_names);

}  // namespace sardonyx
