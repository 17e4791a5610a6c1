// tools/cli/graph_picture.cpp - draws a graph: layers, the order within each layer, coordinates, and the SVG.
#include "graph_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace sardonyx::cli {
namespace {

constexpr double kBoxWidth = 150, kBoxHeight = 26, kGapX = 24, kGapY = 30, kMargin = 16;
constexpr double kRowWidth = 1800;  // for connected parts side by side
constexpr std::size_t kMostInLayer = 16;
constexpr int kSweeps = 4;
constexpr std::size_t kLetters = 23;  // as many as fit into a box
constexpr int kMaxLayerSpan = 12;     // longer edges are drawn as two stubs

struct Place {
  int layer = 0;
  double x = 0;  // of the centre
};

std::vector<std::vector<int>> Predecessors(const std::vector<PictureNode>& nodes) {
  std::vector<std::vector<int>> before(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int next : nodes[i].successors) before[static_cast<std::size_t>(next)].push_back(static_cast<int>(i));
  return before;
}

double MeanPlace(const std::vector<int>& neighbours, const std::vector<Place>& places, double otherwise) {
  if (neighbours.empty()) return otherwise;
  double sum = 0;
  for (const int n : neighbours) sum += places[static_cast<std::size_t>(n)].x;
  return sum / static_cast<double>(neighbours.size());
}

// Places the nodes of a layer side by side, as close as possible to their ideal positions.
void Spread(const std::vector<int>& layer, const std::vector<double>& wanted, std::vector<Place>& places) {
  constexpr double kStep = kBoxWidth + kGapX;
  double right = -1e18, shift = 0;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    const double x = std::max(wanted[i], right + kStep);
    places[static_cast<std::size_t>(layer[i])].x = x;
    shift += wanted[i] - x;
    right = x;
  }
  shift /= static_cast<double>(layer.size());
  for (const int node : layer) places[static_cast<std::size_t>(node)].x += shift;
}

void Sweep(std::vector<int>& layer, const std::vector<std::vector<int>>& neighbours, std::vector<Place>& places) {
  std::vector<std::pair<double, int>> order;
  for (const int node : layer) {
    const auto at = static_cast<std::size_t>(node);
    order.emplace_back(MeanPlace(neighbours[at], places, places[at].x), node);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<double> wanted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    layer[i] = order[i].second;
    wanted.push_back(order[i].first);
  }
  Spread(layer, wanted, places);
}

// A node's layer is the length of the longest path from a source. Then, from the last node to the first, a node with
// fewer inputs than readers moves close to its readers, so that a shape or a constant that is used in the middle of the
// graph does not stand at its top.
void AssignLayers(const std::vector<PictureNode>& nodes, const std::vector<std::vector<int>>& before,
                  std::vector<Place>& places) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int next : nodes[i].successors)
      places[static_cast<std::size_t>(next)].layer =
          std::max(places[static_cast<std::size_t>(next)].layer, places[i].layer + 1);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const std::vector<int>& after = nodes[i].successors;
    if (after.size() <= before[i].size()) continue;
    int first = places[static_cast<std::size_t>(after[0])].layer;
    for (const int next : after) first = std::min(first, places[static_cast<std::size_t>(next)].layer);
    places[i].layer = std::max(places[i].layer, first - 1);
  }
}

void Arrange(const std::vector<PictureNode>& nodes, const std::vector<std::vector<int>>& before,
             std::vector<std::vector<int>>& layers, std::vector<Place>& places) {
  std::vector<std::vector<int>> after;
  for (const PictureNode& node : nodes) after.push_back(node.successors);
  for (auto& layer : layers)
    for (std::size_t i = 0; i < layer.size(); ++i)
      places[static_cast<std::size_t>(layer[i])].x = static_cast<double>(i) * (kBoxWidth + kGapX);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (auto& layer : layers) Sweep(layer, before, places);
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) Sweep(*layer, after, places);
  }
  for (auto& layer : layers) Sweep(layer, before, places);
}

// For each node, the number of the connected part that contains it.
std::vector<std::size_t> Parts(const std::vector<PictureNode>& nodes, const std::vector<std::vector<int>>& before,
                               std::size_t* count) {
  std::vector<std::size_t> part(nodes.size(), nodes.size());
  *count = 0;
  for (std::size_t start = 0; start < nodes.size(); ++start) {
    if (part[start] != nodes.size()) continue;
    std::vector<std::size_t> open = {start};
    part[start] = *count;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const auto* neighbours : {&nodes[at].successors, &before[at]}) {
        for (const int next : *neighbours) {
          if (part[static_cast<std::size_t>(next)] != nodes.size()) continue;
          part[static_cast<std::size_t>(next)] = *count;
          open.push_back(static_cast<std::size_t>(next));
        }
      }
    }
    ++*count;
  }
  return part;
}

// The layers of one part. If more nodes are in a layer than fit side by side, the rest stands below.
std::vector<std::vector<int>> LayersOf(const std::vector<int>& nodes, const std::vector<Place>& places) {
  std::map<int, std::vector<int>> whole;
  for (const int i : nodes) whole[places[static_cast<std::size_t>(i)].layer].push_back(i);
  std::vector<std::vector<int>> layers;
  for (const auto& entry : whole) {
    const std::vector<int>& layer = entry.second;
    const std::size_t rows = (layer.size() + kMostInLayer - 1) / kMostInLayer;
    const std::size_t most = (layer.size() + rows - 1) / rows;
    for (std::size_t begin = 0; begin < layer.size(); begin += most)
      layers.emplace_back(layer.begin() + static_cast<std::ptrdiff_t>(begin),
                          layer.begin() + static_cast<std::ptrdiff_t>(std::min(layer.size(), begin + most)));
  }
  return layers;
}

// Places parts that are not connected side by side, in rows.
std::vector<Place> PlacesOf(const std::vector<PictureNode>& nodes) {
  std::vector<Place> places(nodes.size());
  const auto before = Predecessors(nodes);
  AssignLayers(nodes, before, places);
  std::size_t count = 0;
  const std::vector<std::size_t> part = Parts(nodes, before, &count);
  std::vector<std::vector<int>> members(count);
  for (std::size_t i = 0; i < nodes.size(); ++i) members[part[i]].push_back(static_cast<int>(i));
  double left = 0;
  int top = 0, bottom = 0;
  for (const std::vector<int>& all : members) {
    std::vector<std::vector<int>> layers = LayersOf(all, places);
    Arrange(nodes, before, layers, places);
    double least = 1e18, most = -1e18;
    for (const int i : all) {
      least = std::min(least, places[static_cast<std::size_t>(i)].x);
      most = std::max(most, places[static_cast<std::size_t>(i)].x);
    }
    if (left > 0 && left + most - least > kRowWidth) {
      left = 0;
      top = bottom + 1;
    }
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (const int i : layers[layer]) {
        Place& place = places[static_cast<std::size_t>(i)];
        place = {top + static_cast<int>(layer), place.x + left - least + kMargin + kBoxWidth / 2};
      }
    }
    bottom = std::max(bottom, top + static_cast<int>(layers.size()));
    left += most - least + 2 * kBoxWidth;
  }
  return places;
}

double Top(const Place& place) { return kMargin + place.layer * (kBoxHeight + kGapY); }

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string Curve(double x1, double y1, double x2, double y2) {
  const double middle = (y1 + y2) / 2;
  return "M" + Number(x1) + " " + Number(y1) + "C" + Number(x1) + " " + Number(middle) + " " + Number(x2) + " " +
         Number(middle) + " " + Number(x2) + " " + Number(y2);
}

// How far an edge over several layers bends sideways, so that the boxes between do not hide it.
double Swing(int span) { return kBoxWidth / 2 + 14 + 5 * std::min(span, kMaxLayerSpan); }

void AddEdge(const Place& from, const Place& to, std::string& path) {
  const double y1 = Top(from) + kBoxHeight, y2 = Top(to);
  const int span = to.layer - from.layer;
  if (span > kMaxLayerSpan) {
    path += "M" + Number(from.x) + " " + Number(y1) + "v8M" + Number(to.x) + " " + Number(y2 - 8) + "v8";
  } else if (span > 1) {
    const double side = std::max(from.x, to.x) + Swing(span);
    path += Curve(from.x, y1, side, y1 + kGapY) + "V" + Number(y2 - kGapY) + Curve(side, y2 - kGapY, to.x, y2);
  } else {
    path += Curve(from.x, y1, to.x, y2);
  }
}

std::string Shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "\u2026";
}

}  // namespace

std::string HeatColour(double heat) {
  heat = std::clamp(heat, 0.0, 1.0);
  const double red = 255 - 25 * heat, green = 255 - 200 * heat,
               blue = heat < 0.3 ? 255 - heat / 0.3 * 155 : 100 - 70 * (heat - 0.3) / 0.7;
  char text[8];
  std::snprintf(text, sizeof(text), "#%02x%02x%02x", static_cast<unsigned>(red) & 0xff,
                static_cast<unsigned>(green) & 0xff, static_cast<unsigned>(blue) & 0xff);
  return text;
}

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

std::string GraphPicture(const std::vector<PictureNode>& nodes) {
  if (nodes.empty()) return "";
  const std::vector<Place> places = PlacesOf(nodes);
  double width = 0, height = 0;
  for (const Place& place : places) {
    width = std::max(width, place.x + Swing(kMaxLayerSpan) + kMargin);
    height = std::max(height, Top(place) + kBoxHeight + kMargin);
  }
  std::string edges, boxes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const int next : nodes[i].successors) AddEdge(places[i], places[static_cast<std::size_t>(next)], edges);
    const std::string& time = nodes[i].time;
    const std::string label = Shortened(nodes[i].label, time.empty() ? kLetters : kLetters - 1 - time.size());
    boxes += (nodes[i].id.empty() ? "<g>" : "<g id=\"" + EscapeHtml(nodes[i].id) + "\">") + "<title>" +
             EscapeHtml(nodes[i].title) + "</title><rect x=\"" + Number(places[i].x - kBoxWidth / 2) + "\" y=\"" +
             Number(Top(places[i])) + "\" width=\"" + Number(kBoxWidth) + "\" height=\"" + Number(kBoxHeight) +
             "\" rx=\"4\" fill=\"" + HeatColour(nodes[i].heat) + "\"/><text x=\"" + Number(places[i].x) + "\" y=\"" +
             Number(Top(places[i]) + kBoxHeight / 2 + 4) + "\">" +
             EscapeHtml(label + (time.empty() ? "" : " " + time)) + "</text></g>\n";
  }
  return "<svg class=\"graph\" xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Number(width) + "\" height=\"" +
         Number(height) + "\" viewBox=\"0 0 " + Number(width) + " " + Number(height) +
         "\">\n<path class=\"edges\" d=\"" + edges + "\"/>\n" + boxes + "</svg>\n";
}

}  // namespace sardonyx::cli
