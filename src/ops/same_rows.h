// ops/same_rows.h - whether a session wants the same bits for a row (a token) whatever rows are computed with it, so
// that the steps of a decoder give what one run over all tokens gives: session.use_deterministic_compute.
#pragma once

namespace sardonyx::ops {

// What kernels that this thread prepares are asked for while the object lives.
class SameRowsScope {
 public:
  explicit SameRowsScope(bool wanted);
  ~SameRowsScope();
  SameRowsScope(const SameRowsScope&) = delete;
  SameRowsScope& operator=(const SameRowsScope&) = delete;

 private:
  bool before_;
};

// Of the scope of this thread; false without one. Kernels keep it in their state.
bool WantsSameRows();

}  // namespace sardonyx::ops
