#!/bin/sh
# cmake/cached_compiler.sh - runs a compiler through ccache: cached_compiler.sh CCACHE COMPILER ARGUMENT...
#
# ccache looks a compilation up by its preprocessed source. Where an older precompiled header lies beside the one to be
# made, the preprocessor reads that instead of the headers, and ccache serves what was once made after it: a header of
# another state of the sources. So the old one goes first.
for argument; do
  case $argument in *.gch) rm -f "$argument" ;; esac
done
# Without these two, ccache never serves a file that is compiled with a precompiled header.
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$@"
