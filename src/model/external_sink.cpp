// model/external_sink.cpp - places weights one after the other.
#include "model/external_sink.h"

#include <algorithm>

namespace sardonyx::model {

std::optional<ExternalPlace> SequentialSink::Place(const ValueInfo& value) {
  constexpr std::size_t kLine = 64, kPage = 4096, kLarge = std::size_t{1} << 20;
  const Tensor& tensor = value.initializer->tensor;
  const std::size_t bytes = tensor.byte_size();
  if (bytes == 0 || bytes < options_.min_bytes) return std::nullopt;
  std::size_t alignment = bytes >= kLarge ? kPage : kLine;
  if (bytes >= options_.aligned_bytes) alignment = std::max(alignment, options_.alignment);
  Write(std::string((alignment - size() % alignment) % alignment, '\0'));
  const std::uint64_t offset = size();
  Write({static_cast<const char*>(tensor.raw()), bytes});
  return ExternalPlace{options_.location, offset, bytes};
}

}  // namespace sardonyx::model
