#pragma once

#include <array>

#include "ops/vision/image_schema.h"
#include "ops/vision/pil/byte_map.h"

namespace headrace::ops {

// PIL's Image.point with a list.
class MapValuesSchema final : public ImageSchema {
 public:
  // One table for each channel; those past the last channel are ignored.
  using Tables = std::array<ByteTable, 3>;

  explicit MapValuesSchema(const Tables& tables) : tables_(tables) {}
  [[nodiscard]] Purity purity() const override { return Purity::kPure; }
  [[nodiscard]] const Tables& tables() const { return tables_; }

 private:
  Tables tables_;
};

}  // namespace headrace::ops
