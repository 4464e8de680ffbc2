#include "dataworker/cache/cache_registry.h"

namespace headrace::dataworker {

// Generated from the component folders.
void RegisterCaches(CacheRegistry& registry);

const CacheRegistry& BuiltinCacheTiers() {
  static const CacheRegistry registry = [] {
    CacheRegistry made;
    RegisterCaches(made);
    return made;
  }();
  return registry;
}

}  // namespace headrace::dataworker
