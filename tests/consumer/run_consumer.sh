#!/bin/bash
# Builds hello.cpp outside the tree in one of several ways and runs it on two ranks.
#   run_consumer.sh install <build> <prefix>
#   run_consumer.sh find_package <work> <prefix> <codemode> <threadmode> <how: variable|environment>
#   run_consumer.sh build_tree <work> <build>
#   run_consumer.sh add_subdirectory <work> <source> <atoll>    as a static library, which is then used installed, too
#   run_consumer.sh pkg_config <work> <prefix> <name>
#   run_consumer.sh readme <work> <prefix> <name>       the program in README.md, on four ranks
# Environment: CXX, CMAKE, GENERATOR, FLAGS (compiler flags of the sanitizers).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
way=$1 work=$2
shift 2
cmake=${CMAKE:-cmake}
export CXXFLAGS="${FLAGS:-}" LDFLAGS="${FLAGS:-}"
unset UPCXX_CODEMODE UPCXX_THREADMODE

configure() {  # source, more options
  local source=$1
  shift
  "$cmake" -S "$source" -B "$work" -G "${GENERATOR:-Ninja}" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_BUILD_TYPE=Release "$@"
}

check() {  # atoll, program
  local output
  output=$("$1" run -n 2 "$2")
  echo "$output"
  grep -q 'hello from 2 ranks, all well' <<< "$output"
}

if [ "$way" != install ]; then
  rm -rf "$work"
fi
case $way in
  install)
    prefix=$1
    rm -rf "$prefix" "$prefix.moved"
    "$cmake" --install "$work" --prefix "$prefix" > /dev/null
    # A moved tree must work as well: nothing may remember where it was installed.
    mv "$prefix" "$prefix.moved"
    ls -R "$prefix.moved" | head -50
    ;;
  find_package)
    prefix=$1.moved code=$2 thread=$3 how=$4
    options=(-DEXPECT_OPT=$([ "$code" = opt ] && echo ON || echo OFF)
             -DEXPECT_PAR=$([ "$thread" = par ] && echo ON || echo OFF))
    if [ "$how" = environment ]; then
      UPCXX_CODEMODE=$code UPCXX_THREADMODE=$thread configure "$here/find_package" \
        -DCMAKE_PREFIX_PATH="$prefix" "${options[@]}"
    elif [ "$how" = default ]; then
      configure "$here/find_package" -DCMAKE_PREFIX_PATH="$prefix" "${options[@]}"
    else
      configure "$here/find_package" -DCMAKE_PREFIX_PATH="$prefix" "${options[@]}" \
        -DUPCXX_CODEMODE="$code" -DUPCXX_THREADMODE="$thread"
    fi
    "$cmake" --build "$work"
    check "$prefix/bin/atoll" "$work/hello"
    if UPCXX_CODEMODE=fast configure "$here/find_package" -DCMAKE_PREFIX_PATH="$prefix" \
         -B "$work/wrong" > "$work/wrong.log" 2>&1; then
      echo "UPCXX_CODEMODE=fast was accepted"
      exit 1
    fi
    grep -q "it must be opt or debug" "$work/wrong.log"
    ;;
  build_tree)
    configure "$here/find_package" -DUPCXX_DIR="$1" -DEXPECT_OPT=ON
    "$cmake" --build "$work"
    check "$1/bin/atoll" "$work/hello"
    ;;
  add_subdirectory)
    launcher=$(command -v ccache || true)
    # What is built here is only seen to work: unoptimised it takes less time.
    options=(-DATOLL_SOURCE="$1" ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher}
             -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_FLAGS_RELEASE=-O0)
    configure "$here/add_subdirectory" "${options[@]}"
    # The library and nothing else: no tools, nothing that only tools need.
    if grep '"file"' "$work/compile_commands.json" | grep -v '/src/' || [ -e "$work/atoll/bin" ] ||
       grep '^CLI11_DIR\|^SQLite3_' "$work/CMakeCache.txt"; then
      echo "a project that adds the library as a subdirectory gets more than the library"
      exit 1
    fi
    # Building it twice is not worth the time: built as a static library, and that installed as well; files in groups; without
    # the modules of networks, which are the same beside a shared one.
    configure "$here/add_subdirectory" "${options[@]}" -DBUILD_SHARED_LIBS=OFF -DATOLL_INSTALL=ON \
      -DATOLL_BUILD_TOOLS=ON -DATOLL_CLI11=OFF -DATOLL_UCX=OFF -DATOLL_OFI=OFF -DCMAKE_UNITY_BUILD=ON
    "$cmake" --build "$work"
    check "$2" "$work/hello"
    prefix=$work/prefix
    "$cmake" --install "$work" --prefix "$prefix" > /dev/null
    mkdir "$work/wrapper" "$work/package"
    (cd "$work/wrapper" && ATOLL_CXX=$CXX "$prefix/bin/upcxx" -O1 "$here/hello.cpp" "$here/greet.cpp" -o hello)
    check "$2" "$work/wrapper/hello"
    if ldd "$work/wrapper/hello" | grep libatoll; then
      echo "a program linked with the static library needs the shared one"
      exit 1
    fi
    if [ -z "${FLAGS:-}" ]; then  # a second copy of the library beside the static one
      LD_PRELOAD=$(dirname "$2")/../lib/libatoll.so "$work/wrapper/hello" > "$work/copies" 2>&1 && exit 1
      grep 'two copies of the library, in the program and in .*libatoll.so' "$work/copies"
    fi
    work=$work/package
    configure "$here/find_package" -DCMAKE_PREFIX_PATH="$prefix" -DEXPECT_OPT=ON
    "$cmake" --build "$work"
    check "$2" "$work/hello"
    ;;
  pkg_config | readme)
    prefix=$1.moved name=$2
    mkdir -p "$work"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name "$name.pc")")
    export PKG_CONFIG_PATH
    if [ "$way" = readme ]; then  # its first C++ block is a whole program
      awk '/^```cpp/ {inside = 1; next} /^```/ {if (inside) exit} inside' "$here/../../README.md" > "$work/ring.cpp"
      # shellcheck disable=SC2046
      "$CXX" ${FLAGS:-} -Wall -Wextra -Werror $(pkg-config --cflags "$name") "$work/ring.cpp" -o "$work/ring" \
        $(pkg-config --libs "$name")
      "$prefix/bin/atoll" run -n 4 "$work/ring" | tee "$work/output"
      grep -qx 'rank 3 got 2, rank 0 says 203' "$work/output"
      exit
    fi
    # shellcheck disable=SC2046
    "$CXX" ${FLAGS:-} $(pkg-config --cflags "$name") "$here/hello.cpp" "$here/greet.cpp" -o "$work/hello" \
      $(pkg-config --libs "$name")
    check "$prefix/bin/atoll" "$work/hello"
    ;;
esac
