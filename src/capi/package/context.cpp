// capi/package/context.cpp - the functions of OrtModelPackageContext: what a package has, and where.
#include <algorithm>
#include <memory>

#include "capi/functions.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/package/find.h"

namespace sardonyx::capi {

const PackageComponent& FindComponent(const OrtModelPackageContext* context, const char* context_name,
                                      const char* component_name) {
  const Package& package = *Need(context, context_name).package;
  const std::string name = &Need(component_name, "component_name");
  for (const PackageComponent& component : package.components)
    if (component.name == name) return component;
  Fail(Code::kInvalidArgument, "model package '", package.folder.root.string(), "' has no component '", name, "'");
}

namespace model_package {
namespace {

void GiveNames(const std::vector<const char*>& names, const char* const** out, const char* out_name,
               std::size_t* out_count) {
  auto& result = Need(out, out_name);
  Need(out_count, "out_count") = names.size();
  result = names.empty() ? nullptr : names.data();
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateModelPackageContext(const ORTCHAR_T* package_root,
                                                    OrtModelPackageContext** out) noexcept {
  return Guard([&] {
    const std::filesystem::path root = &Need(package_root, "package_root");
    auto& result = Need(out, "out");
    auto made = std::make_unique<OrtModelPackageContext>();
    made->package = ReadPackage(root);
    result = made.release();
  });
}

void ORT_API_CALL ReleaseModelPackageContext(OrtModelPackageContext* ctx) noexcept { ReleaseHandle(ctx); }

OrtStatusPtr ORT_API_CALL ModelPackage_GetSchemaVersion(const OrtModelPackageContext* ctx,
                                                        int64_t* out_version) noexcept {
  return Guard([&] { Need(out_version, "out_version") = Need(ctx, "ctx").package->schema_version; });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetComponentCount(const OrtModelPackageContext* ctx,
                                                         size_t* out_count) noexcept {
  return Guard([&] { Need(out_count, "out_count") = Need(ctx, "ctx").package->components.size(); });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetComponentNames(const OrtModelPackageContext* ctx,
                                                         const char* const** out_names, size_t* out_count) noexcept {
  return Guard([&] { GiveNames(Need(ctx, "ctx").package->component_names, out_names, "out_names", out_count); });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetVariantCount(const OrtModelPackageContext* ctx, const char* component_name,
                                                       size_t* out_count) noexcept {
  return Guard([&] {
    const PackageComponent& component = FindComponent(ctx, "ctx", component_name);
    Need(out_count, "out_count") = component.variants.size();
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetVariantNames(const OrtModelPackageContext* ctx, const char* component_name,
                                                       const char* const** out_variant_names,
                                                       size_t* out_count) noexcept {
  return Guard([&] {
    GiveNames(FindComponent(ctx, "ctx", component_name).variant_names, out_variant_names, "out_variant_names",
              out_count);
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_GetVariantEpName(const OrtModelPackageContext* ctx, const char* component_name,
                                                        const char* variant_name, const char** out_ep) noexcept {
  return Guard([&] {
    const PackageComponent& component = FindComponent(ctx, "ctx", component_name);
    const std::string name = &Need(variant_name, "variant_name");
    auto& result = Need(out_ep, "out_ep");
    const auto found = std::find_if(component.variants.begin(), component.variants.end(),
                                    [&](const PackageVariant& variant) { return variant.name == name; });
    if (found == component.variants.end())
      Fail(Code::kInvalidArgument, "component '", component.name, "' has no variant '", name, "'");
    result = found->ep ? found->ep->c_str() : nullptr;
  });
}

OrtStatusPtr ORT_API_CALL ModelPackage_ResolveStringRef(const OrtModelPackageContext* ctx, const char* base_dir,
                                                        const char* input, int must_exist,
                                                        const char** out_path) noexcept {
  return Guard([&] {
    const OrtModelPackageContext& context = Need(ctx, "ctx");
    const std::string reference = &Need(input, "input");
    auto& result = Need(out_path, "out_path");
    const PackageFolder& folder = context.package->folder;
    const bool from_root = base_dir == nullptr || *base_dir == '\0';
    context.resolved =
        ResolvePath(folder, from_root ? folder.root : std::filesystem::path(base_dir), reference, must_exist != 0)
            .string();
    result = context.resolved.c_str();
  });
}

}  // namespace model_package
}  // namespace sardonyx::capi
