// tools/cli/graph_picture.h - a graph drawn from top to bottom as SVG, its nodes coloured by a share of the time.
#ifndef SARDONYX_TOOLS_CLI_GRAPH_PICTURE_H
#define SARDONYX_TOOLS_CLI_GRAPH_PICTURE_H

#include <cstdint>
#include <string>
#include <vector>

namespace sardonyx::cli {

struct PictureNode {
  std::string id;               // of the element; "" for none
  std::string label;            // in the box, shortened where both do not fit
  std::string time;             // behind it
  std::string title;            // shown when the pointer is over it; several lines
  double heat = 0;              // 0 cool ... 1 hot
  std::vector<int> successors;  // later nodes that read what it makes
};

// `nodes` in topological order. Layers by the longest way from the inputs, but for what is read late only; within a
// layer nodes stand near those they read from. Time grows with nodes and edges, not faster.
std::string GraphPicture(const std::vector<PictureNode>& nodes);

// "#rrggbb": white for 0 over yellow to red for 1.
std::string HeatColour(double heat);
std::string EscapeHtml(const std::string& text);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_GRAPH_PICTURE_H
