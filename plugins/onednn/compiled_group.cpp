// plugins/onednn/compiled_group.cpp - runs a group: inputs and results lie in the host's memory.
#include "compiled_group.h"

#include <algorithm>
#include <set>

#include "keep_nan.h"
#include "rewrite.h"
#include "threads.h"

namespace sardonyx_onednn {
namespace {

constexpr std::size_t kRemembered = 8;        // sets of shapes, the latest
constexpr std::size_t kSmallConstant = 4096;  // bytes; those are kept, for they may be read as numbers

Settings Careful(Settings settings) {
  settings.keeps_nan = true;
  return settings;
}

}  // namespace

CompiledGroup::CompiledGroup(const Library& library, const Settings& settings, const OrtGraph& graph,
                             const OrtNode& fused)
    : OrtNodeComputeInfo{},
      library_(library),
      settings_(settings),
      careful_settings_(Careful(settings)),
      graph_(ReadGraph(plugin_host::GraphReader(library.apis), graph, true)) {
  ort_version_supported = library.apis.host_version;
  CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    *state = self;
    return nullptr;
  };
  Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) -> OrtStatus* {
    auto& group = *static_cast<CompiledGroup*>(static_cast<OrtNodeComputeInfo*>(state));
    return plugin_host::Guard(*group.library_.apis.host, [&] { group.Run(*context); });
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  Rewrite(graph_);
  loses_nan_ = settings_.keep_nan && LosesNan(graph_);
  makes_nan_ = loses_nan_ && MakesNan(graph_);
  FindPorts(fused);
  CompileKnownShapes();
}

void CompiledGroup::FindPorts(const OrtNode& fused) {
  const plugin_host::GraphReader reader(library_.apis);
  const auto find = [&](const std::vector<const OrtValueInfo*>& values, int value) {
    const std::string& name = graph_.at(value).name;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != nullptr && reader.Name(values[i]) == name) return i;
    throw Failure(ORT_EP_FAIL, "expected the fused node to have a value '" + name + "', found none");
  };
  std::erase_if(graph_.inputs, [&](int value) { return graph_.ConstantOf(value) != nullptr; });
  for (const int value : graph_.inputs) inputs_.push_back(find(reader.Inputs(fused), value));
  for (const int value : graph_.outputs) outputs_.push_back(find(reader.Outputs(fused), value));
}

// With shapes that the model says, the plan is made now, and weights are kept as the plan has packed them.
void CompiledGroup::CompileKnownShapes() {
  std::vector<Dims> inputs;
  for (const int value : graph_.inputs) {
    const Value& facts = graph_.at(value);
    if (!facts.has_shape || std::any_of(facts.dims.begin(), facts.dims.end(), [](auto dim) { return dim < 0; })) return;
    inputs.push_back(facts.dims);
  }
  const ThreadCount threads(settings_.threads);
  // Both plans are made while all constants are there.
  std::vector<std::pair<bool, std::unique_ptr<Plan>>> plans;
  if (!makes_nan_) plans.emplace_back(false, Take(inputs, false));
  if (loses_nan_) plans.emplace_back(true, Take(inputs, true));
  std::set<const void*> used;
  for (const auto& [keeps_nan, plan] : plans) used.merge(plan->Constants());
  for (Value& value : graph_.values) {
    if (!value.constant || value.constant->bytes.size() <= kSmallConstant ||
        used.contains(value.constant->bytes.data()))
      continue;
    value.constant->own.reset();
    value.constant->bytes = {};
  }
  for (auto& [keeps_nan, plan] : plans) GiveBack(inputs, keeps_nan, std::move(plan));
}

// Whether a run needs a plan that keeps NaN.
bool CompiledGroup::KeepsNan(const std::vector<Dims>& shapes, const std::vector<const void*>& inputs) const {
  if (!loses_nan_ || makes_nan_) return makes_nan_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (graph_.at(graph_.inputs[i]).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT &&
        !AllFinite({static_cast<const float*>(inputs[i]), static_cast<std::size_t>(CountOf(shapes[i]))}))
      return true;
  }
  return false;
}

void CompiledGroup::Run(OrtKernelContext& context) {
  const plugin_host::HostApi& apis = library_.apis;
  const plugin_host::GraphReader reader(apis);
  std::vector<Dims> shapes;
  std::vector<const void*> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const OrtValue* value = nullptr;
    apis.Host(apis.host->KernelContext_GetInput(&context, inputs_[i], &value));
    const Value& expected = graph_.at(graph_.inputs[i]);
    if (value == nullptr)
      throw Failure(ORT_INVALID_ARGUMENT, "input '" + expected.name + "': expected a tensor, found none");
    plugin_host::TensorView view = reader.View(*value);
    if (view.type != expected.type)
      throw Failure(ORT_INVALID_ARGUMENT, "input '" + expected.name + "': expected element type " +
                                              std::to_string(expected.type) + ", found " + std::to_string(view.type));
    shapes.push_back(std::move(view.dims));
    inputs.push_back(view.bytes.data());
  }
  const ThreadCount threads(settings_.threads);
  const bool keeps_nan = KeepsNan(shapes, inputs);
  std::unique_ptr<Plan> plan = Take(shapes, keeps_nan);
  std::vector<void*> outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Dims& dims = plan->output_dims()[i];
    OrtValue* value = nullptr;
    void* data = nullptr;
    apis.Host(apis.host->KernelContext_GetOutput(&context, outputs_[i], dims.data(), dims.size(), &value));
    apis.Host(apis.host->GetTensorMutableData(value, &data));
    outputs.push_back(data);
  }
  plan->Run(inputs, outputs);
  GiveBack(shapes, keeps_nan, std::move(plan));
}

std::unique_ptr<Plan> CompiledGroup::Take(const std::vector<Dims>& inputs, bool keeps_nan) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Shapes& each) {
      return each.inputs == inputs && each.keeps_nan == keeps_nan;
    });
    if (found != known_.end() && !found->idle.empty()) {
      std::unique_ptr<Plan> plan = std::move(found->idle.back());
      found->idle.pop_back();
      known_.splice(known_.begin(), known_, found);
      return plan;
    }
  }
  return Builder(graph_, keeps_nan ? careful_settings_ : settings_, library_.engine, packed_, inputs).Build();
}

void CompiledGroup::GiveBack(const std::vector<Dims>& inputs, bool keeps_nan, std::unique_ptr<Plan> plan) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(known_.begin(), known_.end(),
                            [&](const Shapes& each) { return each.inputs == inputs && each.keeps_nan == keeps_nan; });
  if (found == known_.end()) {
    if (known_.size() == kRemembered) known_.pop_back();
    known_.push_front({inputs, keeps_nan, {}});
    found = known_.begin();
  }
  found->idle.push_back(std::move(plan));
}

}  // namespace sardonyx_onednn
