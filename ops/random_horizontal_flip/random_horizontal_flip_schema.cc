#include "ops/vision/random_flip_schema.h"

namespace headrace::ops {

void RegisterSchemaRandomHorizontalFlip(SchemaRegistry& registry) {
  RandomFlipSchema::Register(registry, "random_horizontal_flip",
                             "Mirrors the image left to right, with probability p.", "Horizontal");
}

}  // namespace headrace::ops
