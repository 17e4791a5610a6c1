// tensor/stream.cpp - the stream of the kernel that runs on this thread.
#include "tensor/stream.h"

#include <utility>

namespace sardonyx {
namespace {

thread_local Stream* current = nullptr;

}  // namespace

Stream* CurrentStream() { return current; }

StreamScope::StreamScope(Stream* stream) : outer_(std::exchange(current, stream)) {}
StreamScope::~StreamScope() { current = outer_; }

}  // namespace sardonyx
