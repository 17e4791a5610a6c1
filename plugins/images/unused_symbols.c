/* unused_symbols.c - names that the decoders' archives mention where they become part of our library.
 *
 * `stderr`: a static archive of Debian's is made for programs, which have `stderr` at a fixed distance; a library has
 * not. With a variable of its own the decoders can be linked. They write nothing to it, for all their messages come to
 * us.
 *
 * JBIG: the only decoder for it is under the GPL, and must not become part of our library. LERC: a format of maps,
 * whose decoder would need C++'s library in a second copy. tiff.cpp refuses both by name before libtiff would call
 * these.
 *
 * This file includes no header of C's library, which would declare `stderr` as it is in programs.
 */
#include "unused_symbols.h"

extern void abort(void);
extern void* dlsym(void*, const char*);

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void* stderr;
HIDDEN void* stdout;

static void* ValueOf(const char* name) {
  void** const programs = dlsym((void*)0, name); /* RTLD_DEFAULT */
  return programs != (void*)0 ? *programs : (void*)0;
}

void SetStandardStreams(void) {
  stderr = ValueOf("stderr");
  stdout = ValueOf("stdout");
}

/* clang-format off */
#define UNUSED(name) HIDDEN void name(void); void name(void) { abort(); }
UNUSED(jbg_dec_free)
UNUSED(jbg_dec_getimage)
UNUSED(jbg_dec_getsize)
UNUSED(jbg_dec_in)
UNUSED(jbg_dec_init)
UNUSED(jbg_enc_free)
UNUSED(jbg_enc_init)
UNUSED(jbg_enc_out)
UNUSED(jbg_newlen)
UNUSED(jbg_strerror)
UNUSED(lerc_decode)
UNUSED(lerc_encodeForVersion)
UNUSED(lerc_getBlobInfo)
/* clang-format on */
