#include "ops/vision/random_flip_schema.h"

namespace headrace::ops {

void RegisterSchemaRandomVerticalFlip(SchemaRegistry& registry) {
  RandomFlipSchema::Register(registry, "random_vertical_flip",
                             "Mirrors the image top to bottom, with probability p.", "Vertical");
}

}  // namespace headrace::ops
