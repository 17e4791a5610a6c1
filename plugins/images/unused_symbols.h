/* unused_symbols.h - what unused_symbols.c needs at run time. */
#ifndef SARDONYX_UNUSED_SYMBOLS_H
#define SARDONYX_UNUSED_SYMBOLS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the decoders' own `stderr` its value. */
void SetStandardStreams(void);

#ifdef __cplusplus
}
#endif

#endif
