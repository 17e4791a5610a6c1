// ops/same_rows.cpp - the scope in which a session's kernels are prepared.
#include "ops/same_rows.h"

#include <utility>

namespace sardonyx::ops {
namespace {

thread_local bool wanted_now = false;

}  // namespace

SameRowsScope::SameRowsScope(bool wanted) : before_(std::exchange(wanted_now, wanted)) {}
SameRowsScope::~SameRowsScope() { wanted_now = before_; }

bool WantsSameRows() { return wanted_now; }

}  // namespace sardonyx::ops
