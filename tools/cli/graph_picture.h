// tools/cli/graph_picture.h - draws a graph as SVG, from top to bottom, with nodes coloured by their share of the time.
#ifndef SARDONYX_TOOLS_CLI_GRAPH_PICTURE_H
#define SARDONYX_TOOLS_CLI_GRAPH_PICTURE_H

#include <cstdint>
#include <string>
#include <vector>

namespace sardonyx::cli {

struct PictureNode {
  std::string id;               // of the SVG element; "": none
  std::string label;            // in the box; shortened if it does not fit beside `time`
  std::string time;             // after the label
  std::string title;            // shown when the pointer is over the box; may have several lines
  double heat = 0;              // from 0 (cool) to 1 (hot)
  std::vector<int> successors;  // indices of the nodes that read its outputs
};

// `nodes` are in topological order. A node's layer is the length of its longest path from the inputs, except that nodes
// which are read late are drawn late. Within a layer, nodes stand near those that they read from. Takes linear time.
std::string GraphPicture(const std::vector<PictureNode>& nodes);

// The colour "#rrggbb": white for 0, yellow between, red for 1.
std::string HeatColour(double heat);
std::string EscapeHtml(const std::string& text);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_GRAPH_PICTURE_H
