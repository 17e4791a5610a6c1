// ir/node_error.cpp - adds a node to an error, unless the message already names one.
#include "ir/node_error.h"

#include <string_view>

namespace sardonyx {

std::string ErrorPrefix(const Graph& graph, const Node& node) {
  return "[" + node.op_type + "] " + Describe(graph, node) + ": ";
}

// A shape may stand first in a message, too: "[2, 3] does not broadcast to ...".
bool NamesNode(const Error& error) {
  const std::string_view message = error.what();
  const std::size_t end = message.find("] node ");
  return !message.empty() && message[0] == '[' && end != std::string_view::npos && message.find(']') == end;
}

Error AtNode(const Graph& graph, const Node& node, const Error& error) {
  return NamesNode(error) ? error : Error(error.code(), ErrorPrefix(graph, node) + error.what());
}

}  // namespace sardonyx
