// tools/cli/info.cpp - `sardonyx info`: shows inputs, outputs, operators and sizes of a model.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using nlohmann::json;

struct InfoArguments {
  std::string model;
};

std::string TypeOf(const json& value) {
  std::string text = value.value("type", "?");
  if (!value.contains("shape")) return text;
  std::string dims;
  for (const json& dim : value["shape"]) {
    dims += dims.empty() ? "" : ", ";
    dims += dim.is_null() ? "?" : dim.is_string() ? dim.get<std::string>() : dim.dump();
  }
  return text + " [" + dims + "]";
}

std::string ValueList(const json& card, const char* key, const char* title) {
  if (!card.contains(key) || card[key].empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const json& value : card[key]) {
    rows.push_back({value.value("name", ""), TypeOf(value)});
  }
  return Heading(title) + Columns(rows) + "\n";
}

std::string Opsets(const json& card) {
  std::string text;
  const json opsets = card.value("opsets", json::object());
  for (const auto& [domain, version] : opsets.items()) {
    text += (text.empty() ? "" : ", ") + (domain.empty() ? std::string("ai.onnx") : domain) + " " + version.dump();
  }
  return text;
}

// Operators, the most frequent first, then by name.
std::string Operators(const json& card) {
  std::vector<std::pair<std::int64_t, std::string>> counts;
  const json operators = card.value("operators", json::object());
  for (const auto& [name, count] : operators.items()) {
    counts.emplace_back(-count.get<std::int64_t>(), name);
  }
  std::ranges::sort(counts);
  std::vector<std::vector<std::string>> rows;
  for (const auto& [count, name] : counts) rows.push_back({name, std::to_string(-count)});
  return Heading("Operators (" + card.value("node_count", json(0)).dump() + " nodes)") + Columns(rows) + "\n";
}

std::string Memory(const json& card, double file_bytes) {
  std::vector<std::vector<std::string>> rows;
  if (file_bytes > 0) rows.push_back({"file", ByteText(file_bytes)});
  rows.push_back({"parameters", ByteText(card.value("parameter_bytes", 0.0)) + " (" +
                                    CountText(card.value("parameter_count", 0.0)) + " numbers)"});
  if (card.value("external_data_bytes", 0.0) > 0) {
    rows.push_back({"in external files", ByteText(card.value("external_data_bytes", 0.0))});
  }
  const json peak = card.value("peak_activation_bytes", json());
  rows.push_back({"activations", peak.is_number() ? "about " + ByteText(peak.get<double>()) + " at the peak of a run"
                                                  : "not known while dimensions are open"});
  return Heading("Memory") + Columns(rows) + "\n";
}

void PrintCard(const json& card, const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::vector<std::vector<std::string>> rows = {{"graph", card.value("graph_name", "")},
                                                {"opsets", Opsets(card)},
                                                {"IR version", card.value("ir_version", json()).dump()}};
  const std::string producer = card.value("producer_name", "");
  if (!producer.empty()) rows.push_back({"made by", producer + " " + card.value("producer_version", "")});
  if (!card.value("description", "").empty()) rows.push_back({"description", card.value("description", "")});
  if (!card.value("functions", json::array()).empty()) {
    rows.push_back({"functions", std::to_string(card["functions"].size())});
  }
  std::cout << Heading(path) << Columns(rows) << "\n"
            << ValueList(card, "inputs", "Inputs")
            << ValueList(card, "overridable_initializers", "Inputs with a default")
            << ValueList(card, "outputs", "Outputs") << Memory(card, error ? 0.0 : static_cast<double>(size))
            << Operators(card);
  if (const json metadata = card.value("metadata", json::object()); !metadata.empty()) {
    std::vector<std::vector<std::string>> entries;
    for (const auto& [key, value] : metadata.items()) entries.push_back({key, value.get<std::string>()});
    std::cout << Heading("Metadata") << Columns(entries) << "\n";
  }
}

}  // namespace

void AddInfo(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("info", "Show what is in a model: inputs, outputs, operators, memory");
  command->group("Commands");
  auto arguments = std::make_shared<InfoArguments>();
  AddModel(*command, arguments->model);
  AddJson(*command, common);
  command->footer(
      "Examples:\n"
      "  sardonyx info model.onnx\n"
      "  sardonyx info model.onnx --json");
  command->callback([arguments, &common] {
    const ModelSource model = OpenModel(arguments->model);
    const json card = json::parse(Text([&](OrtAllocator* allocator, char** text) {
      return Sardonyx().ModelInfoJson(model.path_or_null(), model.data_or_null(), model.bytes.size(), allocator, text);
    }));
    if (common.json) {
      std::cout << card.dump(2) << "\n";
    } else {
      PrintCard(card, arguments->model);
    }
  });
}

}  // namespace sardonyx::cli
