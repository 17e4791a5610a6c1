// tools/cli/samples.h - the data of a folder as samples: the inputs of one run each.
#ifndef SARDONYX_TOOLS_CLI_SAMPLES_H
#define SARDONYX_TOOLS_CLI_SAMPLES_H

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inputs.h"

namespace sardonyx::cli {

struct SampleSettings {
  std::filesystem::path data;  // a folder or a file; "": only what `inputs` sets
  std::string image_input;     // "": the only input that can be an image
  std::size_t most = 0;        // how many samples are taken of more
  InputArguments inputs;       // what --input sets is the same in all samples; settings of images; seed of the choice
};

struct WrittenSamples {
  nlohmann::json list = nlohmann::json::array();  // for each: its file, and where it is from
  std::vector<std::string> warnings;              // what was not read, and why
};

// Writes each sample into `folder` as an .npz with arrays "0", "1" and so on: the places of the inputs in `wanted`.
// Inputs that neither the data nor `settings.inputs` give are left out.
//
// The data is: images (in folders of any depth); .npz files with arrays by the names of inputs; .npy and .pb files, for
// a model with one input; folders with a file for each input, NAME.npy, NAME.pb or input_NUMBER.pb. A file whose tensor
// has more rows than the model takes, or as many as it likes in a dimension that is a batch, is several samples.
//
// `progress` is told from 0 to 1 what is done. `stop` ends the work early. Throws a Failure: NO_SUCHFILE, or
// INVALID_ARGUMENT for data that does not fit. Images that cannot be read are left out with a warning; it is an error
// if that are all.
WrittenSamples WriteSamples(const std::vector<ValueDescription>& wanted, const SampleSettings& settings,
                            const std::filesystem::path& folder, const std::function<void(double)>& progress,
                            const std::function<bool()>& stop);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_SAMPLES_H
