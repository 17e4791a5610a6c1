// tools/cli/samples.cpp - finds, reads and writes samples.
#include "samples.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <random>

#include "tensor_file.h"

namespace sardonyx::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Invalid(const std::string& message) { throw Failure(ORT_INVALID_ARGUMENT, message); }

bool IsTensorFile(const fs::path& path) {
  const std::string suffix = path.extension().string();
  return suffix == ".npy" || suffix == ".npz" || suffix == ".pb";
}

// "input_12" -> 12, as in the test data of ONNX.
std::optional<std::size_t> InputNumber(const std::string& stem) {
  constexpr std::string_view kStart = "input_";
  std::size_t number = 0;
  if (!stem.starts_with(kStart)) return std::nullopt;
  const char* end = stem.data() + stem.size();
  const auto [at, error] = std::from_chars(stem.data() + kStart.size(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

// What one or more samples are made from: an image, a file of tensors, or files of one tensor each by input.
struct Source {
  fs::path path;
  std::map<std::size_t, fs::path> parts;  // by the place of the input; empty: `path` is a file
};

using Tensors = std::map<std::size_t, HostTensor>;  // by the place of the input

std::string Listed(const std::vector<HostTensor>& tensors) {
  std::string text;
  for (const HostTensor& tensor : tensors) text += (text.empty() ? "'" : ", '") + tensor.name + "'";
  return text;
}

class Reader {
 public:
  Reader(const std::vector<ValueDescription>& wanted, const SampleSettings& settings)
      : wanted_(wanted), settings_(settings) {
    for (const Input& input : GivenInputs(wanted, settings.inputs, assumed_))
      fixed_[Place(input.tensor.name)] = input.tensor;
  }

  std::vector<Source> Find() const;
  std::vector<Tensors> Read(const Source& source) const;
  const Tensors& fixed() const { return fixed_; }

 private:
  std::size_t Place(const std::string& name) const {
    const auto found = std::ranges::find(wanted_, name, &ValueDescription::name);
    return static_cast<std::size_t>(found - wanted_.begin());
  }
  std::vector<std::size_t> Missing() const;  // inputs that --input does not set
  std::size_t ImagePlace(const fs::path& path) const;
  void AddFolder(const fs::path& folder, std::vector<fs::path> files, std::vector<Source>& sources) const;
  Tensors ReadFileOfTensors(const fs::path& path) const;
  std::vector<Tensors> Split(Tensors tensors, const fs::path& path) const;
  bool IsBatch(std::size_t place) const;

  const std::vector<ValueDescription>& wanted_;
  const SampleSettings& settings_;
  Tensors fixed_;
  std::vector<std::string> assumed_;
};

std::vector<std::size_t> Reader::Missing() const {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < wanted_.size(); ++at)
    if (!fixed_.contains(at)) places.push_back(at);
  return places;
}

// The input for images: the one that was named, or the only one whose shape is that of an image.
std::size_t Reader::ImagePlace(const fs::path& path) const {
  if (!settings_.image_input.empty()) {
    const std::size_t place = Place(settings_.image_input);
    if (place == wanted_.size())
      Invalid("--image-input: the model has no input '" + settings_.image_input + "'; its inputs are " +
              Names(wanted_));
    return place;
  }
  const std::vector<std::size_t> missing = Missing();
  if (missing.size() == 1) return missing[0];
  std::vector<std::size_t> fitting;
  for (const std::size_t place : missing) {
    const ValueDescription& value = wanted_[place];
    const std::size_t rank = value.shape.size();
    if (value.kind != ONNX_TYPE_TENSOR || (rank != 3 && rank != 4)) continue;
    for (const std::int64_t dim : {value.shape[rank - 3], value.shape[rank - 1]})
      if (dim == 1 || dim == 3 || dim == 4) {
        fitting.push_back(place);
        break;
      }
  }
  if (fitting.size() != 1)
    Invalid("'" + path.string() + "' is an image, and the model has " + std::to_string(wanted_.size()) + " inputs: " +
            Names(wanted_) + "; name the one for images with --image-input, or set the others with --input");
  return fitting[0];
}

// The files of one folder: a sample together, or samples by themselves.
void Reader::AddFolder(const fs::path& folder, std::vector<fs::path> files, std::vector<Source>& sources) const {
  std::ranges::sort(files);
  std::map<std::size_t, fs::path> by_name, by_number;
  std::size_t tensor_files = 0;
  for (const fs::path& file : files) {
    if (!IsTensorFile(file) || file.extension() == ".npz") continue;
    ++tensor_files;
    const std::string stem = file.stem().string();
    if (const std::size_t place = Place(stem); place < wanted_.size()) by_name[place] = file;
    if (const auto number = InputNumber(stem); number && *number < wanted_.size()) by_number[*number] = file;
  }
  const bool named = wanted_.size() > 1 && by_name.size() == tensor_files && tensor_files > 0;
  const bool numbered = !by_number.empty() && (wanted_.size() > 1 || tensor_files == 1 ||
                                               fs::exists(folder / ("output_0" + by_number[0].extension().string())));
  if (named || numbered) sources.push_back({folder, named ? by_name : by_number});
  for (const fs::path& file : files) {
    const bool part = IsTensorFile(file) && file.extension() != ".npz" && (named || numbered);
    if (!part && (IsTensorFile(file) || IsImageFile(file))) sources.push_back({file, {}});
  }
}

std::vector<Source> Reader::Find() const {
  const fs::path& data = settings_.data;
  if (!fs::exists(data)) throw Failure(ORT_NO_SUCHFILE, "--data: there is no folder or file '" + data.string() + "'");
  if (!fs::is_directory(data)) {
    if (!IsTensorFile(data) && !IsImageFile(data))
      Invalid("--data: expected a folder, an image, or a file that ends in .npy, .npz or .pb, found '" + data.string() +
              "'");
    return {{data, {}}};
  }
  std::map<fs::path, std::vector<fs::path>> folders;
  std::size_t others = 0;
  std::string other;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(data, fs::directory_options::follow_directory_symlink, error)) {
    if (!entry.is_regular_file()) continue;
    folders[entry.path().parent_path()].push_back(entry.path());
    if (IsTensorFile(entry.path()) || IsImageFile(entry.path())) continue;
    ++others;
    if (other.empty()) other = entry.path().filename().string();
  }
  if (error) throw Failure(ORT_NO_SUCHFILE, "--data: cannot read '" + data.string() + "': " + error.message());
  std::vector<Source> sources;
  for (auto& [folder, files] : folders) AddFolder(folder, std::move(files), sources);
  if (sources.empty())
    Invalid("--data: expected images or files that end in .npy, .npz or .pb in '" + data.string() + "', found " +
            (others ? std::to_string(others) + " other files, such as '" + other + "'" : std::string("no file")));
  return sources;
}

// The tensors of an .npz, or the one of an .npy or .pb. A single tensor goes to the only input whatever its name; the
// one of an .npz does so only if NumPy named it ("arr_0"): a name that the user chose and no input has is a mistake.
Tensors Reader::ReadFileOfTensors(const fs::path& path) const {
  std::vector<HostTensor> tensors = ReadTensors(path);
  if (tensors.empty()) Invalid("'" + path.string() + "': expected at least one tensor, found none");
  const std::vector<std::size_t> missing = Missing();
  const std::string names = Listed(tensors);
  const bool unnamed = path.extension() != ".npz" || tensors[0].name == "arr_0";
  Tensors found;
  for (HostTensor& tensor : tensors) {
    std::size_t place = Place(tensor.name);
    if (place == wanted_.size() && tensors.size() == 1 && missing.size() == 1 && unnamed) place = missing[0];
    if (place == wanted_.size()) {
      const bool named = tensors.size() > 1 || !tensor.name.empty();
      Invalid("'" + path.string() + "': expected arrays with the names of inputs, " + Names(wanted_) + ", found " +
              (named ? names : "one without a name"));
    }
    found[place] = std::move(tensor);
  }
  return found;
}

// Whether the first dimension of an input is open and a batch, as far as its name tells.
bool Reader::IsBatch(std::size_t place) const {
  const ValueDescription& value = wanted_[place];
  if (!value.has_shape || value.shape.empty() || value.shape[0] >= 0) return false;
  std::string name = value.symbols[0];
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.empty() || name == "n" || name == "b" || name == "bs" || name == "none" || name.starts_with("unk") ||
         name.find("batch") != std::string::npos;
}

HostTensor Rows(const HostTensor& tensor, std::size_t from, std::size_t count) {
  const auto rows = static_cast<std::size_t>(tensor.shape[0]);
  HostTensor part{.name = tensor.name, .type = tensor.type, .shape = tensor.shape};
  part.shape[0] = static_cast<std::int64_t>(count);
  if (!tensor.strings.empty()) {
    const std::size_t each = tensor.strings.size() / rows;
    part.strings.assign(tensor.strings.begin() + static_cast<std::ptrdiff_t>(from * each),
                        tensor.strings.begin() + static_cast<std::ptrdiff_t>((from + count) * each));
    return part;
  }
  const std::size_t each = tensor.data.size() / rows;
  part.data.assign(tensor.data.begin() + static_cast<std::ptrdiff_t>(from * each),
                   tensor.data.begin() + static_cast<std::ptrdiff_t>((from + count) * each));
  return part;
}

std::vector<Tensors> Reader::Split(Tensors tensors, const fs::path& path) const {
  // All have the same number of rows, and the model takes fewer.
  std::int64_t rows = -1;
  std::int64_t taken = -1;
  bool whole = false;
  for (const auto& [place, tensor] : tensors) {
    const ValueDescription& value = wanted_[place];
    const bool fixed = value.has_shape && !value.shape.empty() && value.shape[0] > 0;
    const std::int64_t own = tensor.shape.empty() ? -1 : tensor.shape[0];
    const std::int64_t takes = fixed ? value.shape[0] : IsBatch(place) ? 1 : -1;
    whole |= own <= 0 || takes < 0 || (rows >= 0 && rows != own) || (taken >= 0 && taken != takes) ||
             FindElementType(tensor.type).bits < 8;
    rows = own;
    taken = takes;
  }
  std::vector<Tensors> samples;
  if (whole || rows <= taken || rows % taken != 0) {
    for (auto& [place, tensor] : tensors) tensor = Fit(std::move(tensor), wanted_[place], path.string());
    samples.push_back(std::move(tensors));
    return samples;
  }
  const std::int64_t count = rows / taken;
  const auto most = static_cast<std::int64_t>(settings_.most);
  for (std::int64_t at = 0; at < std::min(count, most); ++at) {  // spread over the file if it has more
    const std::int64_t sample = count <= most ? at : at * count / most;
    Tensors part;
    for (const auto& [place, tensor] : tensors)
      part[place] = Fit(Rows(tensor, static_cast<std::size_t>(sample * taken), static_cast<std::size_t>(taken)),
                        wanted_[place], path.string());
    samples.push_back(std::move(part));
  }
  return samples;
}

std::vector<Tensors> Reader::Read(const Source& source) const {
  if (source.parts.empty() && IsImageFile(source.path)) {
    const std::size_t place = ImagePlace(source.path);
    std::vector<Tensors> samples(1);
    samples[0][place] = ImageTensor(source.path, wanted_[place], settings_.inputs.image);
    return samples;
  }
  if (source.parts.empty()) return Split(ReadFileOfTensors(source.path), source.path);
  Tensors tensors;
  for (const auto& [place, file] : source.parts) {
    std::vector<HostTensor> found = ReadTensors(file);
    tensors[place] = Fit(std::move(found.at(0)), wanted_[place], file.string());
  }
  std::vector<Tensors> samples;
  samples.push_back(std::move(tensors));
  return samples;
}

// The same part of too many sources for the same seed, in the order in which they lie in the folder.
void Choose(std::vector<Source>& sources, std::size_t most, std::uint64_t seed) {
  if (sources.size() <= most) return;
  std::mt19937_64 random(seed);
  std::vector<std::size_t> places(sources.size());
  for (std::size_t at = 0; at < places.size(); ++at) places[at] = at;
  for (std::size_t at = 0; at < most; ++at)  // not std::shuffle, which differs between libraries
    std::swap(places[at], places[at + random() % (places.size() - at)]);
  places.resize(most);
  std::ranges::sort(places);
  std::vector<Source> chosen;
  for (const std::size_t place : places) chosen.push_back(std::move(sources[place]));
  sources = std::move(chosen);
}

void WriteSample(const Tensors& tensors, const Tensors& fixed, const fs::path& file) {
  Tensors all = tensors;
  all.insert(fixed.begin(), fixed.end());
  std::vector<HostTensor> list;
  for (auto& [place, tensor] : all) {
    list.push_back(std::move(tensor));
    list.back().name = std::to_string(place);
  }
  WriteTensors(file, list);
}

}  // namespace

WrittenSamples WriteSamples(const std::vector<ValueDescription>& wanted, const SampleSettings& settings,
                            const fs::path& folder, const std::function<void(double)>& progress,
                            const std::function<bool()>& stop) {
  WrittenSamples written;
  const Reader reader(wanted, settings);
  const auto add = [&](const Tensors& tensors, const std::string& origin) {
    const fs::path file = folder / ("sample" + std::to_string(written.list.size()) + ".npz");
    WriteSample(tensors, reader.fixed(), file);
    written.list.push_back({{"file", file.string()}, {"origin", origin}});
  };
  if (settings.data.empty()) {
    if (!reader.fixed().empty()) add({}, "");
    return written;
  }
  std::vector<Source> sources = reader.Find();
  Choose(sources, settings.most, settings.inputs.seed);
  for (std::size_t at = 0; at < sources.size() && written.list.size() < settings.most; ++at) {
    if (stop()) break;
    progress(static_cast<double>(at) / static_cast<double>(sources.size()));
    std::vector<Tensors> samples;
    try {
      samples = reader.Read(sources[at]);
    } catch (const Failure& failure) {
      // A damaged image among many is left out; that all are damaged, or do not fit, is an error.
      if (!IsImageFile(sources[at].path) || sources.size() == 1 || written.warnings.size() + 1 == sources.size()) throw;
      if (std::string(failure.what()).find("expected an image") == std::string::npos) throw;
      written.warnings.emplace_back(failure.what());
      continue;
    }
    for (std::size_t row = 0; row < samples.size() && written.list.size() < settings.most; ++row)
      add(samples[row], sources[at].path.string() + (samples.size() > 1 ? " [" + std::to_string(row) + "]" : ""));
  }
  return written;
}

}  // namespace sardonyx::cli
