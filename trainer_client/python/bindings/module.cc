// headrace._client: the C++ client for Python. Its surface is ../headrace/_client.pyi.
#include <nanobind/nanobind.h>

#include "base/version.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/python/bindings/attributes.h"
#include "trainer_client/python/bindings/batch.h"
#include "trainer_client/python/bindings/blob.h"
#include "trainer_client/python/bindings/errors.h"
#include "trainer_client/python/bindings/objects.h"
#include "trainer_client/python/bindings/plan.h"
#include "trainer_client/python/bindings/session.h"
#include "trainer_client/python/bindings/shards.h"
#include "trainer_client/python/bindings/stats.h"
#include "trainer_client/python/bindings/uncounted.h"

NB_MODULE(_client, module) {
  // Tensors that live until the interpreter ends are no leak.
  nanobind::set_leak_warnings(false);
  module.attr("most_ahead_bytes") = headrace::IterationOptions::kMostAheadBytes;
  module.attr("__version__") = nanobind::str(headrace::kVersion.data(), headrace::kVersion.size());
  headrace::python::AddErrors(module);
  headrace::python::AddBlobs(module);
  headrace::python::AddObjects(module);
  headrace::python::AddShards(module);
  headrace::python::AddPlans(module);
  headrace::python::AddBatches(module);
  headrace::python::AddSessions(module);
  headrace::python::AddStats(module);
  headrace::python::AddUncounted(module);
  headrace::python::AddAttributes(module);
}
