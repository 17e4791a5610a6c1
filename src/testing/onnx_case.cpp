// testing/onnx_case.cpp - loads, runs and compares a case of the ONNX backend suite.
#include "testing/onnx_case.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/mapped_file.h"
#include "model/load.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "providers/cpu/cpu_provider.h"
#include "runtime/session.h"

namespace sardonyx::testing {
namespace {

namespace fs = std::filesystem;

std::vector<Value> LoadValues(const fs::path& folder, const std::string& kind, const Graph& graph,
                              const std::vector<ValueId>& ids) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const fs::path path = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) {
      values.emplace_back();
      continue;
    }
    const auto file = MappedFile::Open(path.string());
    const TypeKind type = graph.value(ids[i]).type.kind;
    values.push_back(type == TypeKind::kSequence   ? model::LoadSequence(file->bytes())
                     : type == TypeKind::kOptional ? model::LoadOptional(file->bytes())
                                                   : Value(model::LoadTensor(file->bytes())));
  }
  return values;
}

template <typename T>
double At(const Tensor& t, std::int64_t i) {
  return static_cast<double>(t.data<T>()[i]);
}

double ElementAt(const Tensor& t, std::int64_t i) {
  double value = 0;
  const bool done =
      VisitDType<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                 std::uint32_t, std::uint64_t, bool>(t.dtype(), [&]<typename T>() { value = At<T>(t, i); });
  if (done) return value;
  VisitDType<Half, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>(
      t.dtype(), [&]<typename T>() { value = static_cast<double>(static_cast<float>(t.data<T>()[i])); });
  return value;
}

std::string CompareTensors(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype())
    return "type " + std::string(Name(got.dtype())) + " instead of " + std::string(Name(want.dtype()));
  if (!(got.shape() == want.shape())) return "shape " + ToText(got.shape()) + " instead of " + ToText(want.shape());
  if (IsString(got.dtype())) {
    for (std::int64_t i = 0; i < got.count(); ++i)
      if (got.data<std::string>()[i] != want.data<std::string>()[i])
        return "element " + std::to_string(i) + ": '" + got.data<std::string>()[i] + "' instead of '" +
               want.data<std::string>()[i] + "'";
    return "";
  }
  if (IsSubByte(got.dtype()) || Bits(got.dtype()) > 64 || got.dtype() == DType::kComplex64) {
    if (got.dtype() == DType::kComplex64) {
      for (std::int64_t i = 0; i < 2 * got.count(); ++i)
        if (std::abs(got.data<float>()[i] - want.data<float>()[i]) > 1e-4 + 1e-3 * std::abs(want.data<float>()[i]))
          return "complex element " + std::to_string(i / 2);
      return "";
    }
    return std::memcmp(got.raw(), want.raw(), got.byte_size()) == 0 ? "" : "packed bytes differ";
  }
  const bool coarse = got.dtype() == DType::kBFloat16 || Bits(got.dtype()) == 8;
  const double relative = coarse && IsFloating(got.dtype()) ? 0.02 : 1e-3, absolute = 1e-7;
  for (std::int64_t i = 0; i < got.count(); ++i) {
    const double a = ElementAt(got, i), b = ElementAt(want, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::abs(a - b) <= absolute + relative * std::abs(b)) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a) + " instead of " + std::to_string(b);
  }
  return "";
}

std::string Compare(const Value& got, const Value& want) {
  if (want.is_tensor() && got.is_tensor()) return CompareTensors(got.tensor(), want.tensor());
  if (want.is_sequence() && got.is_sequence()) {
    if (got.sequence().items.size() != want.sequence().items.size())
      return std::to_string(got.sequence().items.size()) + " items instead of " +
             std::to_string(want.sequence().items.size());
    for (std::size_t i = 0; i < got.sequence().items.size(); ++i)
      if (std::string text = Compare(got.sequence().items[i], want.sequence().items[i]); !text.empty())
        return "item " + std::to_string(i) + ": " + text;
    return "";
  }
  return got.has_value() == want.has_value() && !want.is_tensor() && !want.is_sequence()
             ? ""
             : got.KindName() + " instead of " + want.KindName();
}

std::vector<Value> RunSession(const Model& model, std::vector<Value> inputs) {
  auto environment = std::make_shared<runtime::Environment>(Logger(), std::vector{providers::CpuProvider()});
  runtime::SessionOptions options;
  options.intra_op_threads = 1;
  const auto session = runtime::Session::FromModel(environment, std::make_shared<Model>(model), options);
  std::vector<std::size_t> input_indices, output_indices;
  std::vector<const Value*> values;
  for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) {
    const auto index = session->FindInput(model.graph.value(model.graph.inputs[i]).name);
    if (!index || (!inputs[i].has_value() && *index >= session->inputs().size())) continue;
    input_indices.push_back(*index);
    values.push_back(&inputs[i]);
  }
  for (std::size_t k = 0; k < session->outputs().size(); ++k) output_indices.push_back(k);
  std::vector<Value> outputs(output_indices.size());
  const runtime::RunOptions run_options;
  session->Run(run_options, input_indices, values, output_indices, outputs);
  // Again, so that what a run leaves behind shows.
  std::vector<Value> again(output_indices.size());
  session->Run(run_options, input_indices, values, output_indices, again);
  return again;
}

std::vector<Value> Interpret(const Model& model, const std::vector<Value>& inputs) {
  const ops::Registry registry;
  Graph graph = model.graph;
  ops::ResolveVersions(graph, registry, model);
  ops::Infer(graph, registry);
  return ops::EvaluateGraph(graph, registry, inputs);
}

}  // namespace

CaseResult RunOnnxCase(const std::string& folder, bool interpret) {
  try {
    const Model model = model::LoadFile((fs::path(folder) / "model.onnx").string());
    for (int set = 0;; ++set) {
      const fs::path data = fs::path(folder) / ("test_data_set_" + std::to_string(set));
      if (!fs::exists(data)) break;
      const std::vector<Value> inputs = LoadValues(data, "input", model.graph, model.graph.inputs);
      const std::vector<Value> want = LoadValues(data, "output", model.graph, model.graph.outputs);
      const std::vector<Value> got = interpret ? Interpret(model, inputs) : RunSession(model, inputs);
      for (std::size_t k = 0; k < want.size(); ++k)
        if (std::string text = Compare(got[k], want[k]); !text.empty())
          return {CaseResult::Status::kFailed, "output " + std::to_string(k) + ": " + text};
    }
    return {};
  } catch (const Error& error) {
    return {error.code() == Code::kNotImplemented ? CaseResult::Status::kNotImplemented : CaseResult::Status::kFailed,
            error.what()};
  } catch (const std::exception& error) {
    return {CaseResult::Status::kFailed, std::string("exception: ") + error.what()};
  }
}

}  // namespace sardonyx::testing
