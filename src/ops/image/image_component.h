// ops/image/image_component.h - the component for images, a library of its own with the decoders of ImageDecoder.
#pragma once

#include "sardonyx_images.h"

namespace sardonyx::ops {

// Loads the component from the folder of this library, once for the process. Fails with kNotImplemented, saying how to
// get the component, where it is missing or of another version.
decltype(&SdxDecodeImage) LoadImageDecoders();

}  // namespace sardonyx::ops
