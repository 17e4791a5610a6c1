// base/lasting.h - objects of the whole process that outlive the static objects of programs, and not the library.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace sardonyx {

// Objects that are made at their first use. They are not destroyed with the static objects of this library, since those
// of programs may use them later, but by DropLasting(), which the C interface calls when the library is about to be
// unmapped and nothing of it is in use: a program that loads and unloads it again and again does not grow.
class LastingBase {
 public:
  LastingBase(const LastingBase&) = delete;
  LastingBase& operator=(const LastingBase&) = delete;

 protected:
  constexpr explicit LastingBase(void (*destroy)(void*)) : destroy_(destroy) {}
  ~LastingBase() = default;

  // Made by `make`, which nothing else calls meanwhile, if it is not there.
  void* Get(void* (*make)()) {
    void* const made = object_.load(std::memory_order_acquire);
    return made != nullptr ? made : Make(make);
  }

 private:
  friend void DropLasting();
  void* Make(void* (*make)());

  std::atomic<void*> object_ = nullptr;
  void (*destroy_)(void*);
  LastingBase* next_ = nullptr;  // the one that was made before
};

// A static object of type Lasting<T, kMake> gives the T that kMake, a function without arguments, has made.
template <typename T, auto kMake>
class Lasting : public LastingBase {
 public:
  constexpr Lasting() : LastingBase([](void* object) { delete static_cast<T*>(object); }) {}
  T& operator*() {
    return *static_cast<T*>(Get([]() -> void* { return kMake().release(); }));
  }
};

// For objects with a default constructor.
template <typename T>
std::unique_ptr<T> MakeDefault() {
  return std::make_unique<T>();
}

// Destroys all of them, the last one made first. One that is used again is made again.
void DropLasting();

}  // namespace sardonyx
