#!/bin/sh
# Turn a text file into a C header with one string constant: web/flame.js becomes
# `static const char web_flame_js[]`. Indentation, empty lines and lines that are only a
# comment ("//...", or "/*...*/" on one line) are left out: the text goes into every drawing.
#
#     tools/embed.sh web/flame.js > web_flame_js.h
set -eu
name=$(basename "$1" | tr -c 'A-Za-z0-9\n' _)
echo "/* Made from $1 by tools/embed.sh. */"
echo "#pragma once"
echo "static const char web_${name}[] ="
sed -e 's/^[[:space:]]*//' -e '/^$/d' -e '\,^//,d' -e '\,^/\*.*\*/$,d' \
    -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$1"
echo "    ;"
