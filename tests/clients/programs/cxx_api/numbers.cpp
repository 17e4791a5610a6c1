// tests/clients/programs/cxx_api/numbers.cpp - the header's small floating point types, and its own questions.
#include <cmath>

#include "report.h"

namespace {

template <typename T>
void Small(const std::string& name) {
  for (float value : {0.0F, -0.0F, 1.5F, -2.25F, 1e-6F, 70000.0F, INFINITY, -INFINITY, NAN}) {
    const T number(value);
    Say(name + " of " + std::to_string(value), number.val, std::isnan(value) ? 0.0F : number.ToFloat(),
        number.IsNegative(), number.IsNaN(), number.IsFinite(), number.IsPositiveInfinity(),
        number.IsNegativeInfinity(), number.IsInfinity(), number.IsNaNOrZero(), number.IsNormal(), number.IsSubnormal(),
        number.Abs().val, number.Negate().val, number == T(1.5F), number != T(1.5F), number < T(1.5F));
  }
  Say(name + " of bits", static_cast<float>(T::FromBits(0x3F80)), T::AreZero(T(0.0F), T(-0.0F)));
}

template <typename T>
void Tiny(const std::string& name) {
  const T one(0x38), other = T(uint8_t{0x39}), none;
  Say(name, one.value, static_cast<uint8_t>(other), one == other, one != other, none == T(0));
}

}  // namespace

void Numbers() {
  Small<Ort::Float16_t>("Float16_t");
  Small<Ort::BFloat16_t>("BFloat16_t");
  Tiny<Ort::Float8E4M3FN_t>("Float8E4M3FN_t");
  Tiny<Ort::Float8E4M3FNUZ_t>("Float8E4M3FNUZ_t");
  Tiny<Ort::Float8E5M2_t>("Float8E5M2_t");
  Tiny<Ort::Float8E5M2FNUZ_t>("Float8E5M2FNUZ_t");
  Say("the version has a first part", Ort::GetVersionString().substr(0, 2));
  Say("there is a text about the build", !Ort::GetBuildInfoString().empty());
  Say("the last provider is the CPU", Ort::GetAvailableProviders().back());
  Say("GetApi", Ort::Global<void>::api_ == &Ort::GetApi());

  Ort::Status fine, null(nullptr), bad("not here", ORT_NO_SUCHFILE);
  Say("Status", fine.IsOK(), null.IsOK(), bad.IsOK(), bad.GetErrorCode(), bad.GetErrorMessage());
  const Ort::Status of_exception(Ort::Exception("wrong", ORT_INVALID_GRAPH)), of_other(std::runtime_error("other"));
  Say("Status of exceptions", of_exception.GetErrorCode(), of_exception.GetErrorMessage(), of_other.GetErrorCode(),
      of_other.GetErrorMessage());
  Ort::Status moved(std::move(bad));
  Say("Status moved", moved.GetErrorCode(), bad.IsOK());
  Say("Status given away", Ort::GetApi().GetErrorCode(moved), moved.IsOK());
}
