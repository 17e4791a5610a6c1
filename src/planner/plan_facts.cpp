// planner/plan_facts.cpp - when two facts are the same.
#include "planner/plan_facts.h"

#include <cstddef>
#include <cstring>

namespace sardonyx::planner {
namespace {

constexpr std::size_t kMostCompared = 16384;  // bytes

bool Same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.raw() == b.raw() && a.buffer() == b.buffer()) return true;
  if (IsString(a.dtype()) || a.byte_size() > kMostCompared) return false;
  return a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

}  // namespace

bool PlanFact::operator==(const PlanFact& other) const {
  if (is_static != other.is_static || !(type == other.type)) return false;
  if (known.is_tensor() && other.known.is_tensor()) return Same(known.tensor(), other.known.tensor());
  return !known.has_value() && !other.known.has_value();
}

}  // namespace sardonyx::planner
