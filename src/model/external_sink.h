// model/external_sink.h - where a model's weights go instead of into its protobuf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "model/new_file.h"

namespace sardonyx::model {

// What the model says of a weight that it does not hold.
struct ExternalPlace {
  std::string location;
  std::uint64_t offset = 0, length = 0;
};

class ExternalSink {
 public:
  virtual ~ExternalSink() = default;
  // Stores the weight `value` (not of strings, in host memory) and says where it is; nullopt: it stays in the protobuf.
  virtual std::optional<ExternalPlace> Place(const ValueInfo& value) = 0;
};

struct SinkOptions {
  std::string location;       // what the model says
  std::size_t min_bytes = 0;  // smaller weights stay in the protobuf, as those without elements
  // Weights of at least this many bytes begin at multiples of `alignment` (a power of two; 0: as usual).
  std::size_t alignment = 0, aligned_bytes = 0;
};

// Weights one after the other, in one place. They begin at multiples of 64 bytes, those of a mebibyte or more at
// multiples of 4,096, and at multiples of what the options ask for.
class SequentialSink : public ExternalSink {
 public:
  explicit SequentialSink(SinkOptions options) : options_(std::move(options)) {}
  std::optional<ExternalPlace> Place(const ValueInfo& value) final;

 private:
  virtual std::uint64_t size() const = 0;
  virtual void Write(std::string_view bytes) = 0;
  SinkOptions options_;
};

class FileSink final : public SequentialSink {
 public:
  FileSink(const std::string& path, SinkOptions options) : SequentialSink(std::move(options)), file_(path) {}
  NewFile& file() { return file_; }

 private:
  std::uint64_t size() const override { return file_.size(); }
  void Write(std::string_view bytes) override { file_.Write(bytes); }
  NewFile file_;
};

class MemorySink final : public SequentialSink {
 public:
  using SequentialSink::SequentialSink;
  const std::string& bytes() const { return bytes_; }

 private:
  std::uint64_t size() const override { return bytes_.size(); }
  void Write(std::string_view bytes) override { bytes_ += bytes; }
  std::string bytes_;
};

}  // namespace sardonyx::model
