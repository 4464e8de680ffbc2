#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Generated from the component folders.
void RegisterSources(SourceRegistry& registry);

const SourceRegistry& BuiltinSources() {
  static const SourceRegistry registry = [] {
    SourceRegistry made;
    RegisterSources(made);
    return made;
  }();
  return registry;
}

}  // namespace headrace::dataworker
