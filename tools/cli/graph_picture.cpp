// tools/cli/graph_picture.cpp - layers, an order within each, coordinates, and the SVG.
#include "graph_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sardonyx::cli {
namespace {

constexpr double kBoxWidth = 150, kBoxHeight = 26, kGapX = 24, kGapY = 30, kMargin = 16;
constexpr int kSweeps = 4;
constexpr int kMaxLayerSpan = 12;  // longer edges are drawn as two stubs

struct Place {
  int layer = 0;
  double x = 0;  // of the middle
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

// Puts the nodes of a layer side by side as near as can be to where they want to be.
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

std::vector<Place> Layout(const std::vector<PictureNode>& nodes, std::size_t* layer_count) {
  std::vector<Place> places(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const int next : nodes[i].successors)
      places[static_cast<std::size_t>(next)].layer =
          std::max(places[static_cast<std::size_t>(next)].layer, places[i].layer + 1);
  std::vector<std::vector<int>> layers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto layer = static_cast<std::size_t>(places[i].layer);
    if (layers.size() <= layer) layers.resize(layer + 1);
    places[i].x = static_cast<double>(layers[layer].size()) * (kBoxWidth + kGapX);
    layers[layer].push_back(static_cast<int>(i));
  }
  const auto before = Predecessors(nodes);
  std::vector<std::vector<int>> after;
  for (const PictureNode& node : nodes) after.push_back(node.successors);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (auto& layer : layers) Sweep(layer, before, places);
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) Sweep(*layer, after, places);
  }
  for (auto& layer : layers) Sweep(layer, before, places);
  double left = 0;
  for (const Place& place : places) left = std::min(left, place.x);
  for (Place& place : places) place.x += kMargin + kBoxWidth / 2 - left;
  *layer_count = layers.size();
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

// How far an edge over several layers swings out, so that the boxes between do not hide it.
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
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a letter
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
  std::size_t layers = 0;
  const std::vector<Place> places = Layout(nodes, &layers);
  double width = 0;
  for (const Place& place : places) width = std::max(width, place.x + Swing(kMaxLayerSpan) + kMargin);
  const double height = 2 * kMargin + static_cast<double>(layers) * (kBoxHeight + kGapY) - kGapY;
  std::string edges, boxes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const int next : nodes[i].successors) AddEdge(places[i], places[static_cast<std::size_t>(next)], edges);
    boxes += "<g><title>" + EscapeHtml(nodes[i].title) + "</title><rect x=\"" + Number(places[i].x - kBoxWidth / 2) +
             "\" y=\"" + Number(Top(places[i])) + "\" width=\"" + Number(kBoxWidth) + "\" height=\"" +
             Number(kBoxHeight) + "\" rx=\"4\" fill=\"" + HeatColour(nodes[i].heat) + "\"/><text x=\"" +
             Number(places[i].x) + "\" y=\"" + Number(Top(places[i]) + kBoxHeight / 2 + 4) + "\">" +
             EscapeHtml(Shortened(nodes[i].label, 22)) + "</text></g>\n";
  }
  return "<svg class=\"graph\" xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Number(width) + "\" height=\"" +
         Number(height) + "\" viewBox=\"0 0 " + Number(width) + " " + Number(height) +
         "\">\n<path class=\"edges\" d=\"" + edges + "\"/>\n" + boxes + "</svg>\n";
}

}  // namespace sardonyx::cli
