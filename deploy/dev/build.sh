# ./dev build, demo, bench. Sourced.

# What the installed program is made from: a listing that changes when a source file changes.
source_digest() {
  find . \( -path './.*' -o -path ./build -o -path ./bench -o -path ./docs -o -name __pycache__ \) -prune -o \
    -type f -printf '%p %s %T@\n' | LC_ALL=C sort | sha256sum
}

# Builds the wheel in build/release and installs it into .venv. The tests are configured too, so that
# they can be built in the same tree, but nobody waits for them here.
pip_build() {
  CMAKE_BUILD_PARALLEL_LEVEL=$JOBS pip_install -v --no-build-isolation --no-deps --force-reinstall \
    --config-settings cmake.define.HEADRACE_TESTS=ON \
    --config-settings cmake.define.HEADRACE_WERROR=ON \
    --config-settings "build.targets=headrace;headrace_python;headrace_images" . || return
  # A file that left the package must leave .venv too, and what was installed must work.
  .venv/bin/headrace --version && "$PYTHON" -c 'import headrace'
}

build_installed() {
  local digest
  digest=$(source_digest)
  if stamped build/release/headrace-installed "$digest" && [ -x .venv/bin/headrace ]; then
    echo "      nothing changed"
    return
  fi
  run_logged build pip_build
  stamp build/release/headrace-installed "$digest"
}

SETUP_STEPS=3
setup_and_build() {
  heading "Debian packages (1 min if they are missing)"
  need_debian build "$@"
  heading "Python packages in .venv (3 min the first time)"
  need_python
  heading "building the program and the Python package (about 5 min on 2 cores the first time)"
  build_installed
}

# What setup_and_build leaves out: the C++ tests, and what the Python tests use of C++.
build_the_rest() {
  heading "building the tests (about 5 min on 2 cores the first time)"
  run_logged build-tests cmake --build build/release --parallel "$JOBS"
}

cmd_build() {
  [ $# -eq 0 ] || die "build knows no options"
  STEPS=$((SETUP_STEPS + 1))
  setup_and_build
  build_the_rest
  echo
  echo "Built. Try: .venv/bin/headrace --help"
  echo "            .venv/bin/headrace run .venv/bin/python your_program.py"
}

cmd_demo() {
  STEPS=$((SETUP_STEPS + 2))
  setup_and_build
  need_photos
  heading "training twice (about 2 min)"
  "$PYTHON" deploy/dev/demo.py --photos build/demo/photos --out build/demo "$@"
}

# The photographs: fetched as Debian packages, unpacked under build/, never installed.
PHOTO_PACKAGES=(lomiri-wallpapers-16.04 mate-backgrounds)
fetch_photos() {
  local into=build/demo/packages package
  rm -rf "$into.new" && mkdir -p "$into.new"
  (cd "$into.new" && apt-get download "${PHOTO_PACKAGES[@]}")
  for package in "$into.new"/*.deb; do dpkg-deb -x "$package" "$into.new"; done
  rm -f "$into.new"/*.deb
  rm -rf "$into" && mv "$into.new" "$into"
}

need_photos() {
  heading "photographs (1 min the first time)"
  if [ ! -d build/demo/packages ]; then
    apt-cache show "${PHOTO_PACKAGES[@]}" >/dev/null 2>&1 || apt_update_once
    run_logged fetch-photos fetch_photos
  fi
  "$PYTHON" examples/make_photos.py build/demo/packages build/demo/photos
}

cmd_bench() {
  STEPS=$((SETUP_STEPS + 3))
  setup_and_build bench
  need_photos
  need_frameworks
  heading "building the benchmarks (about 5 min the first time)"
  run_logged build-bench build_preset bench
  heading "benchmarks"
  PATH="$PWD/.venv/bin:$PATH" bash bench/run.sh "$@"
}

# build_preset NAME [ARGUMENTS of cmake --build]: configures (only when needed) and builds a CMake
# preset in build/NAME.
build_preset() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build "build/$preset" -j "$JOBS" "$@"
}

# The pages of docs/ as a site in build/site; a link that leads nowhere is an error. In a Python of its own:
# mkdocs is no part of what others use.
build_site() {
  local list
  mapfile -t list < <(python_packages docs)
  if ! stamped build/docs-python/headrace-packages "${list[*]}"; then
    rm -rf build/docs-python
    /usr/bin/python3 -m venv build/docs-python || return
    build/docs-python/bin/pip install --disable-pip-version-check --progress-bar off "${list[@]}" || return
    stamp build/docs-python/headrace-packages "${list[*]}"
  fi
  NO_MKDOCS_2_WARNING=1 build/docs-python/bin/mkdocs build --strict --clean -f deploy/site/mkdocs.yml
}

cmd_docs() {
  [ $# -eq 0 ] || die "docs knows no options"
  STEPS=2
  heading "Debian packages (1 min if they are missing)"
  need_debian build docs
  heading "the site (1 min the first time)"
  run_logged docs build_site
  # A mistake in a page of the C++ client is an error, too.
  run_logged docs-cpp doxygen deploy/site/Doxyfile
  echo "Built: build/site/README.html, build/site/cpp/index.html"
}
