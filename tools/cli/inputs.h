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
  std::vector<std::string> values;  // NAME=FILE, NAME=NUMBER, or a FILE that contains names; an image is a FILE, too
  std::vector<std::string> dims;    // NAME=NUMBER
  std::vector<std::string> shapes;  // NAME=2x3x4
  std::string range;                // LOW,HIGH: the range of random numbers
  std::uint64_t seed = 0;
  ImageSettings image;
};

struct Input {
  HostTensor tensor;
  std::string source;  // "x.npy", "3", "random"
};

// One input for each of `wanted`, in their order. A dimension whose size is not given is 1, and its name is added to
// `assumed`. Throws a Failure: INVALID_ARGUMENT for names that the model does not have and for types and shapes that do
// not fit, NOT_IMPLEMENTED for a sequence, map or optional.
std::vector<Input> MakeInputs(const std::vector<ValueDescription>& wanted, const InputArguments& arguments,
                              std::vector<std::string>& assumed);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_INPUTS_H
