#!/bin/sh
# cmake/cached_compiler.sh - runs a compiler through ccache: cached_compiler.sh CCACHE COMPILER ARGUMENT...
#
# ccache looks a compilation up by its preprocessed source. Where an older precompiled header lies beside the one to be
# made, the preprocessor reads that instead of the headers, and ccache serves what was once made after it: a header of
# another state of the sources. So the old one goes first.
#
# A precompiled header has 100 MB, which ccache would read for each file that uses it: longer than all else that it does
# to serve the file. With CCACHE_PCH_EXTSUM it reads the checksum that lies beside the header instead. One that is older
# than its header is of another header, and goes.
made= previous=
for argument; do
  case $previous:$argument in
    -o:*.gch) rm -f "$argument" "$argument.sum"; made=$argument ;;
    -o:*.pch) rm -f "$argument.sum"; made=$argument ;;
    *.hxx)
      for header in "$argument.gch" "$argument.pch"; do
        [ -e "$header.sum" ] && [ "$header" -nt "$header.sum" ] && rm -f "$header.sum"
      done ;;
  esac
  previous=$argument
done
export CCACHE_PCH_EXTSUM=true
# Without these two, ccache never serves a file that is compiled with a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros
[ "$made" ] || exec "$@"
"$@" || exit
if command -v sha256sum >/dev/null; then
  sha256sum < "$made" > "$made.sum"
fi
