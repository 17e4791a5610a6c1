// capi/profile_events.cpp - turns nodes, threads and memory of a run into events of a trace.
#include "capi/profile_events.h"

#include <algorithm>

#include "base/process.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "planner/plan.h"
#include "runtime/inspect/body_path.h"
#include "runtime/program.h"

namespace sardonyx::capi {
namespace {

using Json = ProfileEvents::Json;
using planner::Step;
using runtime::Program;
using runtime::TraceEvent;
using runtime::TraceRun;

const Node& NodeOf(const TraceEvent& event) {
  return event.program->graph().node(event.program->steps()[static_cast<std::size_t>(event.step)].node);
}

std::string NameOf(const TraceEvent& event) {
  return runtime::StepName(*event.program, static_cast<std::size_t>(event.step));
}

ops::TensorRef TakeTensor(const std::vector<std::int64_t>& shapes, std::size_t& at) {
  const auto dtype = static_cast<DType>(shapes[at]);
  const auto rank = static_cast<std::size_t>(shapes[at + 1]);
  const Dims dims(shapes.data() + at + 2, rank);
  at += 2 + rank;
  return {dtype, nullptr, dims, dtype == DType::kUndefined ? 0 : ElementCount(dims)};
}

Json TypesAndShapes(const std::vector<ops::TensorRef>& tensors) {
  Json list = Json::array();
  for (const ops::TensorRef& tensor : tensors)
    if (tensor.present())
      list.push_back(
          Json{{std::string(Name(tensor.dtype)), std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())}});
  return list;
}

std::size_t BytesOf(const ops::TensorRef& tensor) {
  return tensor.present() && !IsString(tensor.dtype) ? tensor.byte_size() : 0;
}

Json ValueNames(const Graph& graph, const std::vector<ValueId>& ids) {
  Json names = Json::array();
  for (const ValueId id : ids) names.push_back(id == kNoValue ? std::string() : graph.value(id).name);
  return names;
}

// Time of the step itself: without that of its bodies' steps, which come before it.
std::int64_t SelfNanoseconds(const TraceRun& run, std::size_t index) {
  const TraceEvent& event = run.events[index];
  const Step& step = event.program->steps()[static_cast<std::size_t>(event.step)];
  std::int64_t self = event.end_ns - event.start_ns;
  if (step.bodies.empty()) return self;
  const auto& bodies = event.program->kernels()[static_cast<std::size_t>(event.step)].bodies;
  for (std::size_t i = index; i-- > 0 && run.events[i].start_ns >= event.start_ns;) {
    const TraceEvent& inner = run.events[i];
    for (const auto& body : bodies)
      if (body.get() == inner.program) self -= inner.end_ns - inner.start_ns;
  }
  return std::max<std::int64_t>(self, 0);
}

}  // namespace

Json ProfileEvents::Event(const char* category, const std::string& name, std::int32_t thread, std::int64_t start_ns,
                          std::int64_t end_ns) const {
  return {{"cat", category},
          {"pid", ProcessNumber()},
          {"tid", thread},
          {"dur", static_cast<double>(end_ns - start_ns) / 1e3},
          {"ts", static_cast<double>(start_ns - zero_ns_) / 1e3},
          {"ph", "X"},
          {"name", name}};
}

// With ONNX Runtime's names of the categories.
void ProfileEvents::AddForeign(const OrtProfilingEvent& event) {
  constexpr const char* kCategories[] = {"Session", "Node", "Kernel", "Api"};
  Json json = {{"cat", kCategories[event.category]},
               {"pid", event.process},
               {"tid", event.thread},
               {"dur", event.duration_us},
               {"ts", event.start_us},
               {"ph", "X"},
               {"name", event.name}};
  json["args"] = Json(event.arguments);
  sink_(json);
}

void ProfileEvents::AddMachine() {
  Json event = Event("Machine", "ceiling", ThreadNumber(), zero_ns_, zero_ns_);
  Json streams = Json::array();
  for (const auto& stream : ceiling_.streams)
    streams.push_back({{"bytes", stream.bytes},
                       {"bytes_per_second", stream.bytes_per_second},
                       {"read_bytes_per_second", stream.read_bytes_per_second}});
  event["args"] = {{"threads", ceiling_.threads},
                   {"float_operations_per_second", ceiling_.float_operations_per_second},
                   {"streams", std::move(streams)}};
  sink_(event);
}

void ProfileEvents::AddSession(const char* name, std::int64_t start_ns, std::int64_t end_ns, std::int32_t thread,
                               Json arguments) {
  Json event = Event("Session", name, thread, start_ns, end_ns);
  event["args"] = std::move(arguments);
  sink_(event);
}

void ProfileEvents::AddRun(const TraceRun& run) {
  if (main_ != run.main) {
    main_ = run.main;
    paths_.clear();
    weights_ = 0;
    FindPaths(*main_, "");
  }
  for (std::size_t i = 0; i < run.events.size(); ++i) AddNode(run, i);
  Json arguments = Json::object();
  if (run.dropped != 0) arguments["events_dropped"] = run.dropped;
  std::int64_t first = run.events.empty() ? run.start_ns : run.events.front().start_ns, last = first;
  for (const TraceEvent& event : run.events) {  // those of bodies come before the node that holds them
    first = std::min(first, event.start_ns);
    last = std::max(last, event.end_ns);
  }
  AddSession("SequentialExecutor::Execute", first, last, run.thread, Json::object());
  AddSession("model_run", run.start_ns, run.end_ns, run.thread, std::move(arguments));
}

void ProfileEvents::AddActivity(const TraceRun& run) {
  late_bytes_ = 0;
  for (const TraceEvent& event : run.events) {
    AddThreads(run, event, NameOf(event));
    AddMemory(run, event, TensorsOf(run, event));
  }
}

void ProfileEvents::FindPaths(const Program& program, const std::string& path) {
  paths_[&program] = path;
  for (const planner::SlotInfo& slot : program.slots())
    if (slot.constant != nullptr && !IsString(slot.constant->dtype()))
      weights_ += static_cast<double>(ByteSize(slot.constant->dtype(), slot.constant->count()));
  for (std::size_t s = 0; s < program.steps().size(); ++s) {
    const auto& bodies = program.kernels()[s].bodies;
    for (std::size_t b = 0; b < bodies.size(); ++b) FindPaths(*bodies[b], runtime::BodyPath(program, path, s, b));
  }
}

ProfileEvents::Tensors ProfileEvents::TensorsOf(const TraceRun& run, const TraceEvent& event) {
  const Node& node = NodeOf(event);
  Tensors tensors;
  std::size_t at = event.first_shape;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) tensors.inputs.push_back(TakeTensor(run.shapes, at));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) tensors.outputs.push_back(TakeTensor(run.shapes, at));
  return tensors;
}

void ProfileEvents::AddNode(const TraceRun& run, std::size_t index) {
  const TraceEvent& event = run.events[index];
  const Node& node = NodeOf(event);
  const Graph& graph = event.program->graph();
  const Tensors tensors = TensorsOf(run, event);
  std::size_t activations = 0, parameters = 0, results = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool constant = node.inputs[i] != kNoValue && graph.value(node.inputs[i]).constant() != nullptr;
    (constant ? parameters : activations) += BytesOf(tensors.inputs[i]);
  }
  for (const ops::TensorRef& tensor : tensors.outputs) results += BytesOf(tensor);
  Json arguments = {{"op_name", node.op_type},
                    {"provider", node.provider},
                    {"node_index", std::to_string(event.step)},
                    {"activation_size", std::to_string(activations)},
                    {"parameter_size", std::to_string(parameters)},
                    {"output_size", std::to_string(results)},
                    {"input_type_shape", TypesAndShapes(tensors.inputs)},
                    {"output_type_shape", TypesAndShapes(tensors.outputs)},
                    {"node", node.name},
                    {"domain", std::string(ops::AuthorsDomain(node.domain))},
                    {"inputs", ValueNames(graph, node.inputs)},
                    {"outputs", ValueNames(graph, node.outputs)}};
  if (const std::string& path = PathOf(*event.program); !path.empty()) arguments["graph"] = path;
  const std::int64_t self = SelfNanoseconds(run, index);
  if (event.ran) {
    arguments["self_dur"] = static_cast<double>(self) / 1e3;
    AddCost(event, tensors, self, static_cast<double>(parameters), arguments);
    arguments["threads"] = std::max<std::uint32_t>(event.share_count, 1);
  } else {
    arguments["note"] = "nothing to do: a view of its input, or known from the shapes";
  }
  Json json = Event("Node", NameOf(event) + "_kernel_time", run.thread, event.start_ns, event.end_ns);
  json["args"] = std::move(arguments);
  sink_(json);
}

void ProfileEvents::AddCost(const TraceEvent& event, const Tensors& tensors, std::int64_t self_ns, double parameters,
                            Json& arguments) const {
  const Step& step = event.program->steps()[static_cast<std::size_t>(event.step)];
  ops::Cost cost =
      runtime::CostOf(NodeOf(event), step.op, &event.program->kernels()[static_cast<std::size_t>(event.step)].prepared,
                      tensors.inputs, tensors.outputs);
  cost.weights = std::min(parameters, cost.bytes - cost.written);  // a table of which rows are picked is larger
  arguments["bytes"] = cost.bytes;
  if (cost.operations) arguments["flops"] = *cost.operations;
  // Of a view no kernel is perfect: it may have had nothing to move.
  if (self_ns <= 0 || !step.bodies.empty() || (step.op != nullptr && (step.op->traits & ops::kView) != 0)) return;
  const double seconds = static_cast<double>(self_ns) * 1e-9;
  arguments["bytes_per_second"] = cost.bytes / seconds;
  if (cost.operations) arguments["flops_per_second"] = *cost.operations / seconds;
  // More than the ceiling nobody does: it was measured too low, for others used the machine then. The trace says so.
  const double share = ceiling_.Seconds(cost, weights_) / seconds;
  arguments["ceiling_share"] = std::min(share, 1.0);
  if (share > 1) arguments["ceiling_measured_low_by"] = share;
}

// What the other threads did of the step, each on its own track.
void ProfileEvents::AddThreads(const TraceRun& run, const TraceEvent& event, const std::string& name) {
  for (std::uint32_t i = 0; i < event.share_count; ++i) {
    const runtime::ThreadShare& share = run.shares[event.first_share + i];
    if (share.thread == run.thread) continue;
    Json json = Event("Thread", name, share.thread, share.start_ns, share.end_ns);
    json["args"] = {{"op_name", NodeOf(event).op_type}, {"busy_us", static_cast<double>(share.busy_ns) / 1e3}};
    sink_(json);
  }
}

// Bytes of the arenas that hold something which is still to be read, after each step of the model's graph; and those of
// values whose shape came with the run, which have memory of their own and keep it for the next run.
void ProfileEvents::AddMemory(const TraceRun& run, const TraceEvent& event, const Tensors& tensors) {
  if (event.program != run.main || !run.plan) return;
  const Step& step = event.program->steps()[static_cast<std::size_t>(event.step)];
  const bool view = step.op != nullptr && (step.op->traits & ops::kView) != 0;
  for (std::size_t i = view ? 1 : 0; i < step.outputs.size(); ++i) {
    const int slot = step.outputs[i];
    if (slot != planner::kNoSlot &&
        run.plan->slots[static_cast<std::size_t>(slot)].place == planner::PlannedSlot::Place::kLate)
      late_bytes_ += BytesOf(tensors.outputs[i]);
  }
  std::size_t alive = 0;
  for (const planner::PlannedBuffer& buffer : run.plan->buffers)
    if (buffer.first <= event.step && event.step <= buffer.last) alive += buffer.bytes;
  Json json = Event("Memory", "activations", run.thread, event.end_ns, event.end_ns);
  json["ph"] = "C";
  json["args"] = {{"bytes", alive}, {"late_bytes", late_bytes_}};
  sink_(json);
}

const std::string& ProfileEvents::PathOf(const Program& program) { return paths_[&program]; }

}  // namespace sardonyx::capi
