// tools/cli/inputs.h - the inputs of a run: read from files, filled with a number, or random.
#ifndef SARDONYX_TOOLS_CLI_INPUTS_H
#define SARDONYX_TOOLS_CLI_INPUTS_H

#include <cstdint>
#include <map>
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

// The same without those that would be random.
std::vector<Input> GivenInputs(const std::vector<ValueDescription>& wanted, const InputArguments& arguments,
                               std::vector<std::string>& assumed);

// The tensor of a file with the model's element type. Types that NumPy lacks are stored as unsigned integers. Throws a
// Failure with INVALID_ARGUMENT that names `source` if type or shape do not fit.
HostTensor Fit(HostTensor tensor, const ValueDescription& value, const std::string& source);

// {"x=1x3", ...} by name. Throws a Failure for a name that is none of the inputs.
std::map<std::string, std::vector<std::int64_t>> ParseShapes(const std::vector<std::string>& shapes,
                                                             const std::vector<ValueDescription>& wanted);

// "LOW,HIGH" as two numbers; none for "".
std::vector<double> ParseRange(const std::string& text);

// "'x', 'y'", or "none".
std::string Names(const std::vector<ValueDescription>& values);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_INPUTS_H
