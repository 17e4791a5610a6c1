// tools/cli/quantize.cpp - `sardonyx quantize` and `sardonyx convert`: read the data here, as the other commands do,
// and have the Python package do the rest.
#include <filesystem>
#include <iostream>

#include "commands.h"
#include "model_card.h"
#include "progress.h"
#include "python_package.h"
#include "samples.h"
#include "temporary_folder.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using nlohmann::json;

// What both commands have.
struct MakeArguments {
  std::string model, output, data, image_input;
  InputArguments inputs;
  std::size_t samples = 0;  // 0: chosen by the command
  std::vector<std::string> exclude, compare;
  int threads = 0;
  double seconds = 1;
  int block_size = 0;  // 0: chosen by the command
};

struct QuantizeArguments {
  MakeArguments make;
  std::string method = "auto", format = "qdq", calibrate = "auto", reduce_range = "auto", report;
  double target_sqnr = 0, target_agreement = 0;
  int evaluations = 30;
};

struct ConvertArguments {
  MakeArguments make;
  std::string to;
  bool half_io = false;
};

constexpr std::size_t kSamples = 100;

json RequestOf(const MakeArguments& arguments, const ModelSource& source, const std::vector<ValueDescription>& inputs,
               const std::filesystem::path& folder) {
  json dims = json::object();
  for (const auto& [name, size] : ParseDims(arguments.inputs.dims)) dims[name] = size;
  std::filesystem::path file = arguments.model;
  if (!source.bytes.empty()) {  // the package reads protobuf
    file = folder / "model.onnx";
    WriteFile(file, {reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size()});
  }
  json names = json::array();
  for (const ValueDescription& input : inputs) names.push_back(input.name);
  return {{"model", arguments.model},
          {"file", file.string()},
          {"output", arguments.output},
          {"folder", folder.string()},
          {"data", arguments.data},
          {"inputs", names},
          {"dims", dims},
          {"shapes", ParseShapes(arguments.inputs.shapes, inputs)},
          {"range", ParseRange(arguments.inputs.range)},
          {"seed", arguments.inputs.seed},
          {"sample_count", arguments.samples},
          {"exclude", arguments.exclude},
          {"compare", arguments.compare},
          {"threads", arguments.threads},
          {"seconds", arguments.seconds},
          {"block_size", arguments.block_size}};
}

// Reads the data, and has the package run the command on it. `own`: what only this command has.
void Run(const std::string& command, const MakeArguments& arguments, const json& own, Common& common) {
  const SignalWatch watch;
  const ModelSource source = OpenModel(arguments.model);
  const std::vector<ValueDescription> inputs = InputsOf(ModelCard(source));
  const PythonPackage package = FindPythonPackage("sardonyx", command);
  const TemporaryFolder folder;
  json request = RequestOf(arguments, source, inputs, folder.path());
  request["command"] = command;
  request["json"] = common.json;
  request.update(own);
  const SampleSettings settings{.data = arguments.data,
                                .image_input = arguments.image_input,
                                .most = arguments.samples ? arguments.samples : kSamples,
                                .inputs = arguments.inputs};
  WrittenSamples written;
  {
    Progress progress("reading " + arguments.data);
    written = WriteSamples(
        inputs, settings, folder.path(), [&](double done) { progress.Done(done); }, [&] { return watch.came(); });
  }
  for (const std::string& warning : written.warnings)
    std::cerr << Styled(Style::kRed, "sardonyx: left out: ", true) << warning << "\n";
  request["samples"] = written.list;
  request["left_out"] = written.warnings;
  WriteFile(folder.path() / "request.json", request.dump(2, ' ', false, json::error_handler_t::replace));
  std::cout.flush();
  common.exit_code = watch.came() ? kInterrupted : RunPythonPackage(package, (folder.path() / "request.json").string());
}

void AddMake(CLI::App& command, MakeArguments& arguments) {
  AddModel(command, arguments.model);
  command
      .add_option("--data", arguments.data,
                  "Data for the inputs: a folder with images, .npz (arrays by the names of inputs), .npy or .pb files, "
                  "or such a file (default: random data)")
      ->option_text("FOLDER");
  command
      .add_option("--samples", arguments.samples,
                  "Use at most this many samples of the data (default: 100; random: 16)")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, 1000000));
  command
      .add_option(
          "--exclude", arguments.exclude,
          "Leave these nodes as they are: a name, a pattern such as '/head/*', or an operator (may be repeated)")
      ->option_text("NODES")
      ->expected(1)
      ->take_all();
  command
      .add_option("--compare", arguments.compare,
                  "Compare this output with the original's (may be repeated; default: all of floats)")
      ->option_text("OUTPUT")
      ->expected(1)
      ->take_all();
  command.add_option("--threads", arguments.threads, "Use this many threads (default: one per core)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 4096));
  command
      .add_option("--seconds", arguments.seconds,
                  "Measure the speed of each model for this long; 0: not at all (default: 1)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0.0, 3600.0));
}

void AddData(CLI::App& command, MakeArguments& arguments) {
  AddInputs(command, arguments.inputs);
  command
      .add_option("--image-input", arguments.image_input,
                  "The input for images, if more than one could be (default: the only one)")
      ->option_text("NAME");
  AddImage(command, arguments.inputs.image);
}

void AddBlockSize(CLI::App& command, MakeArguments& arguments) {
  command
      .add_option("--block-size", arguments.block_size,
                  "So many weights of int4 share a scale: 16, 32, 64, 128 or 256 (default: 32)")
      ->check(CLI::IsMember({16, 32, 64, 128, 256}))
      ->option_text("NUMBER");
}

CLI::Option* AddChoice(CLI::App& command, const std::string& name, std::string& value, const std::string& text,
                       const std::vector<std::string>& choices, const std::string& label) {
  return command.add_option(name, value, text)->check(CLI::IsMember(choices))->option_text(label);
}

}  // namespace

void AddQuantize(CLI::App& app, Common& common) {
  CLI::App* command =
      app.add_subcommand("quantize", "Make a model smaller and faster with integers, and show what it costs");
  command->group("Commands");
  auto arguments = std::make_shared<QuantizeArguments>();
  AddMake(*command, arguments->make);
  command
      ->add_option("-o,--output", arguments->make.output,
                   "Write the quantized model to this file (default: beside the model, with the ending .int8.onnx or "
                   ".int4.onnx)")
      ->option_text("FILE");
  command
      ->add_option("--report", arguments->report,
                   "Write a page for a browser: accuracy and ranges of each layer, histograms, speed")
      ->option_text("FILE");
  AddChoice(*command, "--method", arguments->method,
            "static: ranges of activations from the data; dynamic: ranges measured in each run; int4: weights alone; "
            "auto: static or dynamic, whichever is better here (default: auto)",
            {"auto", "static", "dynamic", "int4"}, "METHOD");
  AddChoice(*command, "--format", arguments->format,
            "qdq: QuantizeLinear and DequantizeLinear around float operators; qoperator: operators on integers "
            "(default: qdq)",
            {"qdq", "qoperator"}, "FORMAT");
  AddChoice(*command, "--calibrate", arguments->calibrate,
            "How ranges are chosen: minmax, percentile, entropy, or auto, the better of minmax and percentile "
            "(default: auto)",
            {"auto", "minmax", "percentile", "entropy"}, "HOW");
  AddChoice(*command, "--reduce-range", arguments->reduce_range,
            "Weights of 7 bits: yes, no, or auto: yes for machines without VNNI, as this one may be (default: auto)",
            {"auto", "yes", "no"}, "WHETHER");
  AddBlockSize(*command, arguments->make);
  command
      ->add_option("--target-sqnr", arguments->target_sqnr,
                   "Leave layers in float until the signal is this many dB above the noise of quantization")
      ->option_text("DB")
      ->check(CLI::Range(0.0, 200.0));
  command
      ->add_option("--target-agreement", arguments->target_agreement,
                   "Leave layers in float until this share of top-1 results is the original's, such as 0.99")
      ->option_text("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--evaluations", arguments->evaluations, "Try at most this many models for a target (default: 30)")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, 30));
  AddData(*command, arguments->make);
  AddJson(*command, common);
  command->footer(
      "The work is done by the Python package sardonyx; $SARDONYX_PYTHON names a Python that has it.\n"
      "Give data that is like what the model will see: with random data, ranges are those of random data.\n\n"
      "Examples:\n"
      "  sardonyx quantize model.onnx\n"
      "  sardonyx quantize image.onnx --data photos --report report.html\n"
      "  sardonyx quantize image.onnx --data photos --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225\n"
      "  sardonyx quantize model.onnx --data x.npy --target-sqnr 10 -o small.onnx\n"
      "  sardonyx quantize model.onnx --method dynamic --exclude Relu --dim batch=4\n"
      "  sardonyx quantize model.onnx --method int4 --block-size 64");
  command->callback([arguments, &common] {
    Run("quantize", arguments->make,
        {{"method", arguments->method},
         {"format", arguments->format},
         {"calibrate", arguments->calibrate},
         {"reduce_range", arguments->reduce_range},
         {"report", arguments->report},
         {"target_sqnr", arguments->target_sqnr},
         {"target_agreement", arguments->target_agreement},
         {"evaluations", arguments->evaluations}},
        common);
  });
}

void AddConvert(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("convert", "Write a model in half precision, or with weights of 4 bits");
  command->group("Commands");
  auto arguments = std::make_shared<ConvertArguments>();
  AddMake(*command, arguments->make);
  AddChoice(*command, "--to", arguments->to,
            "fp16, bf16: half precision; int4: weights of products in 4 bits, the rest stays float",
            {"fp16", "bf16", "int4"}, "TYPE")
      ->required();
  command
      ->add_option("-o,--output", arguments->make.output,
                   "Write the converted model to this file (default: beside the model, with the ending .fp16.onnx, "
                   ".bf16.onnx or .int4.onnx)")
      ->option_text("FILE");
  command->add_flag("--convert-io", arguments->half_io,
                    "Inputs and outputs of floats become half precision, too (default: they stay)");
  AddBlockSize(*command, arguments->make);
  AddData(*command, arguments->make);
  AddJson(*command, common);
  command->footer(
      "Nodes whose values are too large for fp16, on the data or on random data, stay float.\n"
      "The work is done by the Python package sardonyx; $SARDONYX_PYTHON names a Python that has it.\n\n"
      "Examples:\n"
      "  sardonyx convert model.onnx --to fp16\n"
      "  sardonyx convert model.onnx --to bf16 -o half.onnx --exclude Relu\n"
      "  sardonyx convert model.onnx --to int4 --block-size 128");
  command->callback([arguments, &common] {
    Run("convert", arguments->make, {{"to", arguments->to}, {"convert_io", arguments->half_io}}, common);
  });
}

}  // namespace sardonyx::cli
