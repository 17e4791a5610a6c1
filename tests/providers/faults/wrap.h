// tests/providers/faults/wrap.h - replaces the functions of a plug-in's structs by ones that can be told to fail.
//
// A struct stays where its plug-in made it; only its function pointers change. What a function makes is wrapped, too.
#pragma once

#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "onnxruntime_c_api.h"

namespace faults {

extern const OrtApi* api;  // of the runtime that has loaded the library

// The fault that is planted, and how often it was reached.
//
//   fail     it returns a status
//   throw    it throws a std::exception, and if it gives something back, then afterwards; "throw_int": something else
//   nothing  it returns at once, with success, without a result
//   null     the struct lacks the function
//   watch    it works: the calls are counted
//   others   it does its work and then gives a wrong answer: Wrong says which
struct Planted {
  std::mutex mutex;
  std::string kind, function;
  long nth = 0;  // only this call, from 1; 0: all
  long calls = 0, hits = 0;
};
Planted& ThePlanted();

// The kind of fault that this call of `function` is to show; "" for none.
std::string Reach(std::string_view function);
// Whether the struct is to lack the function.
bool IsToBeNull(std::string_view function);

// A wrong answer of a function: `Give` returns what it returns, for each kind in `Has`.
template <auto kMember>
struct Wrong;
template <auto kMember>
concept CanBeWrong = requires {
  &Wrong<kMember>::Give;
};

// Wraps what a function has made, in one of its arguments.
template <auto kMember>
struct Made;
template <auto kMember>
concept MakesSomething = requires {
  &Made<kMember>::Wrap;
};

template <auto kMember, typename Type = decltype(kMember)>
struct Function;

template <auto kMember, typename Struct, typename Result, typename... Args>
struct Function<kMember, Result (*Struct::*)(Args...)> {
  using Pointer = Result (*)(Args...);

  static inline std::string name;
  static inline std::mutex mutex;
  static inline std::map<const void*, Pointer> originals;
  static inline Pointer last;

  // Some functions of OrtCustomOp are not given their struct: all structs of the library have the same.
  static Pointer OriginalOf(const void* self) {
    const std::lock_guard lock(mutex);
    const auto found = originals.find(self);
    return found != originals.end() ? found->second : last;
  }

  static Result Call(Args... args) {
    const void* self = std::get<0>(std::forward_as_tuple(args...));
    const Pointer original = OriginalOf(self);
    const std::string kind = Reach(name);
    if constexpr (std::is_void_v<Result>) original(args...);  // what it is to give back is given back
    if (kind == "throw") throw std::runtime_error("planted exception in " + name);
    if (kind == "throw_int") throw 7;
    if (kind == "nothing" || kind == "fail") {
      if constexpr (std::is_same_v<Result, OrtStatus*>) {
        if (kind == "fail") return api->CreateStatus(ORT_EP_FAIL, ("planted fault in " + name).c_str());
      }
      return Result();
    }
    if constexpr (!std::is_void_v<Result>) {
      Result result = original(args...);
      if constexpr (CanBeWrong<kMember>) {
        if (!kind.empty()) return Wrong<kMember>::Give(kind, args...);
      }
      if constexpr (MakesSomething<kMember>) Made<kMember>::Wrap(args...);
      return result;
    }
  }

  static void Wrap(const char* called, Struct* made) {
    name = called;
    if (made->*kMember != nullptr && made->*kMember != &Call) {
      const std::lock_guard lock(mutex);
      originals[made] = last = made->*kMember;
      made->*kMember = &Call;
    }
    if (IsToBeNull(called)) made->*kMember = nullptr;
  }
};

}  // namespace faults
