// providers/plugin/ep.h - an OrtEp of a session: made by a factory of a library, given back to it at the end.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capi/handles/logger.h"
#include "providers/plugin/fields.h"
#include "providers/plugin/library.h"

namespace sardonyx::plugin {

// Shared by the provider and what it compiled, so that kernels never outlive their OrtEp.
class Ep {
 public:
  // `devices`: of `factory`, which belongs to `library`.
  Ep(std::shared_ptr<Library> library, const Factory& factory, std::vector<const OrtEpDevice*> devices,
     const OrtSessionOptions& options, const Logger& logger);

  OrtEp* handle() const { return handle_.get(); }
  const std::string& name() const { return name_; }
  const Factory& factory() const { return factory_; }
  const std::shared_ptr<Library>& library() const { return library_; }
  const std::vector<const OrtEpDevice*>& devices() const { return devices_; }
  const Logger& logger() const { return logger_.logger; }

  // An optional function of the OrtEp; NULL if it has none.
  template <typename Field>
  Field Find(Field OrtEp::*field) const {
    return FieldOf(static_cast<const OrtEp*>(handle_.get()), field);
  }
  // "OpenVINOExecutionProvider: OrtEp::Compile": how errors name who was called.
  std::string Callee(const char* function) const { return name_ + ": OrtEp::" + function; }

 private:
  std::shared_ptr<Library> library_;
  const Factory& factory_;
  std::vector<const OrtEpDevice*> devices_;
  OrtLogger logger_;
  std::string name_;
  struct Releaser {
    const Ep* owner;
    void operator()(OrtEp* ep) const noexcept;
  };
  std::unique_ptr<OrtEp, Releaser> handle_;
};

}  // namespace sardonyx::plugin
