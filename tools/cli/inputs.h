// tools/cli/inputs.h - the inputs of a run: read from files, filled with a number, or random.
#ifndef SARDONYX_TOOLS_CLI_INPUTS_H
#define SARDONYX_TOOLS_CLI_INPUTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image.h"
#include "ort.h"

namespace sardonyx::cli {

struct InputArguments {
  std::vector<std::string> values;  // NAME=FILE, NAME=NUMBER, or FILE with names; FILE may be an image
  std::vector<std::string> dims;    // NAME=NUMBER
  std::vector<std::string> shapes;  // NAME=2x3x4
  std::string range;                // LOW,HIGH of random numbers
  std::uint64_t seed = 0;
  ImageSettings image;
};

struct Input {
  HostTensor tensor;
  std::string source;  // "x.npy", "3", "random"
};

// One for each of `wanted`, in their order. A dimension that nothing fixes is 1, and listed in `assumed`.
// Errors (Failure): INVALID_ARGUMENT for names that the model does not have (with those it has), for types and shapes
// that do not fit; NOT_IMPLEMENTED for a sequence, map or optional.
std::vector<Input> MakeInputs(const std::vector<ValueDescription>& wanted, const InputArguments& arguments,
                              std::vector<std::string>& assumed);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_INPUTS_H
