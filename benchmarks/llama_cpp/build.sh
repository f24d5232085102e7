#!/usr/bin/env bash
# Build DESTINATION/llama_cpp_matvec: build.sh DESTINATION [CMAKE_ARGUMENT...]
set -euo pipefail

release=0.3.36
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
destination=${1:?"usage: build.sh DESTINATION [CMAKE_ARGUMENT...]"}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ " $*" != *" -DGGML_SOURCE="* ]]; then
    python3 -m pip download --no-deps --no-binary llama-cpp-python --dest "$work" "llama-cpp-python==$release"
    tar -xzf "$work/llama_cpp_python-$release.tar.gz" -C "$work"
    set -- "-DGGML_SOURCE=$work/llama_cpp_python-$release/vendor/llama.cpp/ggml" "$@"
fi
cmake -S "$here" -B "$work/build" "$@"
cmake --build "$work/build" --parallel "$(nproc)" --target llama_cpp_matvec
install -D -t "$destination" "$work/build/llama_cpp_matvec"
