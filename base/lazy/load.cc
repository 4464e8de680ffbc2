#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace {

// As hr_lazy_function lays it out (library.inc).
struct LazyFunction {
  std::atomic<void*> place;
  const char* library;
  const char* name;
};
static_assert(sizeof(LazyFunction) == 24);

}  // namespace

// The place of the function, at its first call (first_call.S).
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* headrace_lazy_load(
    LazyFunction* function);

void* headrace_lazy_load(LazyFunction* function) {
  // Local: another copy of it that the program has is not ours, and ours is not the program's. It stays.
  void* const library = ::dlopen(function->library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, function->name);
  if (found == nullptr) {
    std::fprintf(stderr, "headrace: %s is wanted now: %s\n", function->name, ::dlerror());
    ::_exit(127);
  }
  function->place.store(found, std::memory_order_release);
  return found;
}
