#!/bin/sh
# Runs a program of Windows under Wine, as cargo's runner for x86_64-pc-windows-gnu, or the server of Wine: run.sh server OPTION.
# The DLL that Wine lacks and the prefix are in the folder that VECTORED_WINE names: `cargo xtask wine-tests` makes both.
folder=${VECTORED_WINE:?"names the folder of the DLL and the prefix: run cargo xtask wine-tests"}
export WINEPREFIX="$folder/prefix" WINEDEBUG=-all
# Without the installers of .NET and of a browser, which ask questions.
export WINEDLLOVERRIDES="mscoree,mshtml="
WINEPATH="Z:$(printf %s "$folder" | tr / '\\')"
export WINEPATH
unset DISPLAY WAYLAND_DISPLAY WINEARCH WINESERVER WINELOADER
[ "$1" != server ] || {
    shift
    exec wineserver "$@"
}
exec wine "$@"
