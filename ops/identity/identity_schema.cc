#include "ops/core/op_registry.h"
#include "ops/identity/identity.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& /*args*/, const CompileContext& /*context*/) {
  return MakeSchema<IdentitySchema>();
}

}  // namespace

void RegisterSchemaIdentity(SchemaRegistry& registry) {
  registry.Add(
      {.name = "identity",
       .doc = "Changes nothing: containers and transforms that have no effect on this input.",
       .args = {},
       .classes = {"v2.Identity", "v2.ToPureTensor", "nn.Identity"}},
      Make);
}

}  // namespace headrace::ops
