/* sardonyx_images.h - what the library and its component for images (libsardonyx_images.so) say to each other.
 *
 * The operator ImageDecoder loads the component from the folder of the library when a session first needs it. Whoever
 * wants other decoders can put a component of their own there: a shared library that exports the two functions below.
 */
#ifndef SARDONYX_IMAGES_H
#define SARDONYX_IMAGES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A component of another version is refused. */
#define SDX_IMAGES_VERSION 1

enum SdxPixelFormat { SDX_PIXELS_RGB = 0, SDX_PIXELS_BGR = 1, SDX_PIXELS_GRAYSCALE = 2 };

typedef struct SdxImageRequest {
  const uint8_t* data; /* the encoded image */
  size_t size;
  int32_t pixel_format; /* an SdxPixelFormat */
  uint64_t max_pixels;  /* an image of more pixels is refused before memory is allocated for it */
  /* Called once, as soon as the size is known: returns memory for height * width * channels bytes, or NULL. */
  uint8_t* (*allocate)(void* context, int64_t height, int64_t width, int64_t channels);
  void* context;
  char* message; /* what was wrong with the image, as a text of less than message_size bytes */
  size_t message_size;
} SdxImageRequest;

/* SDX_IMAGES_VERSION of the header that the component was compiled with. */
uint32_t SdxImagesVersion(void);
/* Decodes the image into the memory of `allocate`. Returns 0, or another number after it has written the message. Any
 * thread may call it at any time. */
int32_t SdxDecodeImage(const SdxImageRequest* request);

#ifdef __cplusplus
}
#endif

#endif
