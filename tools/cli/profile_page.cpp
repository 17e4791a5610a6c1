// tools/cli/profile_page.cpp - writes the page of a profile: pictures as SVG, tables that a click sorts.
#include "profile_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "graph_picture.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using nlohmann::json;

constexpr const char* kStyle = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
h1 { font-size: 1.5em; overflow-wrap: anywhere; } h2 { font-size: 1.15em; margin: 2em 0 .5em; }
p { max-width: 60em; margin: .5em 0; }
table { border-collapse: collapse; } td, th { padding: 3px 10px; text-align: left; border-bottom: 1px solid #e4e4e4; }
th { cursor: pointer; background: #f4f4f4; position: sticky; top: 0; white-space: nowrap; }
td.n { text-align: right; white-space: nowrap; } a { color: inherit; }
.scroll { overflow: auto; max-height: 80vh; border: 1px solid #ddd; max-width: max-content; }
svg text { font: 11px system-ui, sans-serif; } svg.graph text { text-anchor: middle; }
svg.graph rect { stroke: #888; stroke-width: .7; } path.edges { fill: none; stroke: #99a; stroke-width: 1; }
svg.graph g:target rect { stroke: #1560d4; stroke-width: 4; } svg.chart { max-width: 100%; height: auto; }
.bar { display: inline-block; height: 10px; background: #e2553d; vertical-align: middle; }
.note { color: #666; } button { font: inherit; }
@media (max-width: 700px) { body { margin: .7em; } }
)";

constexpr const char* kScript = R"(
for (const head of document.querySelectorAll('th')) head.onclick = () => {
  const table = head.closest('table'), at = [...head.parentNode.children].indexOf(head);
  const down = head.dataset.down = head.dataset.down === '1' ? '' : '1';
  const key = row => { const cell = row.children[at]; return cell.dataset.v === undefined ? cell.textContent : +cell.dataset.v; };
  const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
  rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1));
  table.tBodies[0].append(...rows.map(row => row[1]));
};
for (const tools of document.querySelectorAll('.zoom')) {
  const frame = tools.nextElementSibling, svg = frame.querySelector('svg'), box = svg.viewBox.baseVal;
  const set = scale => { svg.setAttribute('width', box.width * scale); svg.setAttribute('height', box.height * scale); };
  const scale = () => svg.width.baseVal.value / box.width;
  const [smaller, larger, whole, natural] = tools.querySelectorAll('button');
  smaller.onclick = () => set(scale() / 1.4);
  larger.onclick = () => set(scale() * 1.4);
  whole.onclick = () => set(Math.min(1, frame.clientWidth / box.width, innerHeight * .78 / box.height));
  natural.onclick = () => set(1);
}
)";

std::string Number(double value, const char* format) {
  char text[48];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// A cell with a number: shown as `text`, sorted by `value`.
std::string Cell(double value, const std::string& text) {
  return "<td class=\"n\" data-v=\"" + Number(value, "%.9g") + "\">" + text + "</td>";
}
std::string Cell(const std::string& text) { return "<td>" + EscapeHtml(text) + "</td>"; }

std::string Rate(double amount, double milliseconds, const char* unit) {
  if (amount <= 0 || milliseconds <= 0) return "";
  return Number(amount / milliseconds / 1e6, "%.1f") + unit;
}

std::string NumbersOf(const ProfileRow& row, double total) {
  const double share = total > 0 ? row.milliseconds / total : 0;
  return Cell(row.milliseconds, Number(row.milliseconds, "%.3f")) +
         Cell(share, Number(100 * share, "%.1f") +
                         " % <span class=\"bar\" style=\"width:" + Number(80 * share, "%.0f") + "px\"></span>") +
         Cell(row.flops / std::max(row.milliseconds, 1e-9), Rate(row.flops, row.milliseconds, "")) +
         Cell(row.bytes / std::max(row.milliseconds, 1e-9), Rate(row.bytes, row.milliseconds, "")) +
         Cell(row.ceiling_share, row.ceiling_share > 0 ? Number(100 * row.ceiling_share, "%.0f") + " %" : "") +
         Cell(static_cast<double>(row.threads), std::to_string(row.threads));
}

constexpr const char* kNumberHeads =
    "<th>ms</th><th>of the time</th><th>GFLOP/s</th><th>GB/s</th><th>of the ceiling</th><th>threads</th>";

// In microseconds below a tenth of a millisecond.
std::string TimeText(double milliseconds) {
  return milliseconds >= 0.1 ? Number(milliseconds, "%.3g") + " ms" : Number(1e3 * milliseconds, "%.2g") + " \u00b5s";
}

// The name of the SVG element of a node's box; `plan` is the index of its graph among the plans.
std::string BoxName(std::size_t plan, int step) { return "box" + std::to_string(plan) + "-" + std::to_string(step); }

std::size_t PlanOf(const json& plans, const std::string& graph) {
  std::size_t at = 0;
  while (at < plans.size() && plans[at].value("graph", "") != graph) ++at;
  return at;
}

std::string OperatorTable(const ProfileReport& report) {
  std::string html = "<h2>By operator</h2>\n<div class=\"scroll\"><table><thead><tr><th>operator</th><th>nodes</th>" +
                     std::string(kNumberHeads) + "</tr></thead><tbody>\n";
  for (const ProfileRow& row : report.operators) {
    html += "<tr>" + Cell(row.op_type) + Cell(static_cast<double>(row.nodes), std::to_string(row.nodes)) +
            NumbersOf(row, report.nodes_milliseconds) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string NodeTable(const ProfileReport& report, const std::set<std::string>& boxes, const json& plans) {
  std::string html =
      "<h2>By node</h2>\n<div class=\"scroll\"><table><thead><tr><th>step</th><th>node</th><th>operator</th>"
      "<th>in</th><th>result</th><th>turns</th>" +
      std::string(kNumberHeads) + "</tr></thead><tbody>\n";
  for (const ProfileRow& row : report.nodes) {
    const std::string box = BoxName(PlanOf(plans, row.graph), row.step);
    const std::string name = ShownName(row.node, row.value);
    html += "<tr>" + Cell(row.step, std::to_string(row.step)) +
            (boxes.contains(box) ? "<td><a href=\"#" + box + "\">" + EscapeHtml(name) + "</a></td>" : Cell(name)) +
            Cell(row.op_type) + Cell(row.graph) + Cell(row.shape) +
            Cell(static_cast<double>(row.turns), std::to_string(row.turns)) +
            NumbersOf(row, report.nodes_milliseconds) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

PictureNode BoxOf(const json& step, const ProfileRow* row, double longest, double total) {
  PictureNode node{.label = step.value("op_type", ""),
                   .title = step.value("op_type", "") + "\n" + step.value("node", "")};
  if (row == nullptr) return node;
  node.heat = std::sqrt(row->milliseconds / longest);
  node.title += "\n" + row->shape + "\n" + TimeText(row->milliseconds) + ", " +
                Number(100 * row->milliseconds / std::max(total, 1e-12), "%.1f") + " %";
  if (row->milliseconds > 0) node.time = TimeText(row->milliseconds);
  return node;
}

// The picture of a plan's graph; the hotter a node, the closer its time to that of the slowest node. Constants have no
// boxes; the names of the other boxes are added to `boxes`.
std::string Picture(const json& plans, std::size_t at, const ProfileReport& report, std::set<std::string>& boxes) {
  const json& plan = plans[at];
  const std::string path = plan.value("graph", "");
  std::map<int, const ProfileRow*> rows;
  double longest = 1e-12;
  for (const ProfileRow& row : report.nodes) {
    longest = std::max(longest, row.milliseconds);
    if (row.graph == path) rows[row.step] = &row;
  }
  std::vector<PictureNode> nodes;
  std::map<std::string, std::size_t> makers;
  const json& steps = plan["steps"];
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const json& step = steps[s];
    if (step.value("op_type", "") == "Constant" && step["inputs"].empty()) continue;
    const auto found = rows.find(static_cast<int>(s));
    for (const json& input : step["inputs"]) {
      const auto maker = makers.find(input.get<std::string>());
      if (maker == makers.end()) continue;
      std::vector<int>& readers = nodes[maker->second].successors;
      if (readers.empty() || readers.back() != static_cast<int>(nodes.size()))
        readers.push_back(static_cast<int>(nodes.size()));
    }
    for (const json& output : step["outputs"])
      if (!output.get<std::string>().empty()) makers[output.get<std::string>()] = nodes.size();
    nodes.push_back(BoxOf(step, found == rows.end() ? nullptr : found->second, longest, report.nodes_milliseconds));
    nodes.back().id = *boxes.insert(BoxName(at, static_cast<int>(s))).first;
  }
  if (nodes.empty()) return "";
  return "<h2>" + (path.empty() ? std::string("Graph") : "Body " + EscapeHtml(path)) +
         "</h2>\n<p class=\"note zoom\">Red nodes take the longest; hold the pointer over a box to see more. "
         "<button>\u2212</button> "
         "<button>+</button> <button>all</button> <button>1:1</button></p>\n<div class=\"scroll\">" +
         GraphPicture(nodes) + "</div>\n";
}

constexpr double kChartWidth = 960, kChartHeight = 240;

std::string ChartBegin() {
  return "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"280\" viewBox=\"-10 -10 "
         "1000 280\">"
         "<path d=\"M0 0V240H960\" fill=\"none\" stroke=\"#888\"/>";
}

// The area under one value for each moment; `peak` is as high as the chart.
std::string Area(const std::vector<double>& values, double peak, const char* colour) {
  const double step = kChartWidth / static_cast<double>(values.size());
  std::string path = "M0 " + Number(kChartHeight, "%.0f");
  for (std::size_t at = 0; at < values.size(); ++at)
    path += "L" + Number(static_cast<double>(at) * step, "%.1f") + " " +
            Number(kChartHeight * (1 - values[at] / peak), "%.1f") + "h" + Number(step, "%.2f");
  return "<path d=\"" + path + "V" + Number(kChartHeight, "%.0f") + "Z\" fill=\"" + colour + "\"/>";
}

// A chart of the bytes of activations that are alive after each step.
std::string MemoryChart(const ProfileReport& report) {
  std::vector<double> planned, all;
  double peak = 0, late = 0;
  for (const MemoryMoment& moment : report.memory) {
    planned.push_back(moment.planned);
    all.push_back(moment.planned + moment.late);
    peak = std::max(peak, all.back());
    late = std::max(late, moment.late);
  }
  if (peak <= 0) return "";
  std::string html =
      "<h2>Memory over time</h2>\n<p class=\"note\">Activations that are alive after each step; at the peak " +
      ByteText(peak) + ".";
  if (late > 0)
    html +=
        " Lighter, " + ByteText(late) +
        " in the end: values whose shapes become known during the run; they have memory of their own, which is kept.";
  return html + "</p>\n" + ChartBegin() + (late > 0 ? Area(all, peak, "#c3d8ee") : "") +
         Area(planned, peak, "#7aa6d8") + "<text x=\"4\" y=\"10\">" + ByteText(peak) +
         "</text><text x=\"900\" y=\"258\">step " + std::to_string(report.memory.size() - 1) + "</text></svg>\n";
}

// A map with a box for each buffer: its steps from left to right, its bytes from top to bottom.
std::string MemoryMap(const json& plan) {
  const auto steps = static_cast<double>(plan["steps"].size());
  std::string html;
  for (std::size_t memory = 0; memory < plan["memories"].size(); ++memory) {
    const double arena = plan["memories"][memory].value("arena_bytes", 0.0);
    if (arena <= 0) continue;
    html += "<h2>Map of the arena</h2>\n<p class=\"note\">" + ByteText(arena) + " on the " +
            plan["memories"][memory].value("device", "") +
            ": each box is a buffer; steps go from left to right, offsets from top to bottom.</p>\n" + ChartBegin();
    int at = 0;
    for (const json& buffer : plan["buffers"]) {
      if (buffer.value("memory", std::size_t{0}) != memory) continue;
      const double first = buffer.value("first_step", 0.0), last = buffer.value("last_step", 0.0);
      std::string names;
      for (const json& name : buffer["values"]) names += (names.empty() ? "" : ", ") + name.get<std::string>();
      html += "<g><title>" + EscapeHtml(names) + "\n" + ByteText(buffer.value("bytes", 0.0)) + " at " +
              std::to_string(buffer.value("offset", std::int64_t{0})) + ", steps " + Number(first, "%.0f") + " to " +
              Number(last, "%.0f") + "</title><rect x=\"" + Number(kChartWidth * first / steps, "%.2f") + "\" y=\"" +
              Number(kChartHeight * buffer.value("offset", 0.0) / arena, "%.2f") + "\" width=\"" +
              Number(kChartWidth * (last + 1 - first) / steps, "%.2f") + "\" height=\"" +
              Number(std::max(0.5, kChartHeight * buffer.value("bytes", 0.0) / arena), "%.2f") + "\" fill=\"hsl(" +
              std::to_string(at++ * 47 % 360) + " 55% 70%)\"/></g>\n";
    }
    html += "</svg>\n";
  }
  return html;
}

}  // namespace

std::string ProfilePage(const std::string& model, const ProfileReport& report, const json& plans) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Profile of " +
      EscapeHtml(model) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" + EscapeHtml(model) +
      "</h1>\n<p>" + Number(report.milliseconds, "%.3f") + " ms per run (median of " + std::to_string(report.runs) +
      "), " + Number(report.nodes_milliseconds, "%.3f") + " ms of that in nodes, on " + std::to_string(report.threads) +
      " threads. The machine can do " + Number(report.flops_per_second / 1e9, "%.0f") + " GFLOP/s and move " +
      Number(report.bytes_per_second / 1e9, "%.1f") +
      " GB/s; \"of the ceiling\" is the time that a perfect kernel would need, as a share of the time "
      "taken.</p>\n";
  html += OperatorTable(report);
  std::set<std::string> boxes;
  for (std::size_t at = 0; at < plans.size(); ++at) html += Picture(plans, at, report, boxes);
  html += MemoryChart(report);
  if (!plans.empty()) html += MemoryMap(plans[0]);
  html += NodeTable(report, boxes, plans);
  return html + "<script>" + kScript + "</script>\n</body></html>\n";
}

}  // namespace sardonyx::cli
