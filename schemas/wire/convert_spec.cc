#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "schemas/wire/convert_internal.h"

namespace headrace::wire {

VectorOffset<const fb::TensorSpec*> WriteSpecs(Builder& b, const Specs& specs) {
  if (specs.empty()) return 0;
  return b.CreateVectorOfStructs<fb::TensorSpec>(
      specs.size(), [&](std::size_t i, fb::TensorSpec* to) {
        std::array<std::int64_t, Dims::kMost> dims{};
        if (!specs[i]) {
          *to = fb::TensorSpec(dims, fb::DType::U8, fb::Layout::Plain, -1);
          return;
        }
        const TensorSpec& spec = *specs[i];
        std::copy(spec.dims.begin(), spec.dims.end(), dims.begin());
        *to = fb::TensorSpec(dims, static_cast<fb::DType>(spec.dtype),
                             static_cast<fb::Layout>(spec.layout),
                             static_cast<std::int8_t>(spec.dims.rank()));
      });
}

Specs ReadSpecs(Reader& r, const flatbuffers::Vector<const fb::TensorSpec*>* specs) {
  Specs out;
  if (specs == nullptr) return out;
  // The verifier looks at where a vector's length lies, and not at where its structs do.
  const auto address = reinterpret_cast<std::uintptr_t>(specs->Data());
  if (address % alignof(fb::TensorSpec) != 0) {
    r.Require(false, "alignment of specs");
    return out;
  }
  out.reserve(specs->size());
  for (const fb::TensorSpec* spec : *specs) {
    std::optional<TensorSpec>& read = out.emplace_back();
    if (spec->rank() < 0) continue;
    const auto rank = static_cast<std::size_t>(spec->rank());
    r.Require(rank <= Dims::kMost, "rank");
    std::array<std::int64_t, Dims::kMost> dims{};
    for (std::size_t i = 0; i < std::min(rank, Dims::kMost); ++i) {
      dims[i] = (*spec->dims())[static_cast<flatbuffers::uoffset_t>(i)];
      r.Require(dims[i] >= 0, "size of a dimension");
    }
    read = TensorSpec{r.Enum<DType>(spec->dtype(), fb::DType::MAX, "dtype"),
                      r.Enum<Layout>(spec->layout(), fb::Layout::MAX, "layout"),
                      Dims(std::span(dims).first(std::min(rank, Dims::kMost)))};
  }
  return out;
}

std::optional<ImageSize> ImageSizeOf(const std::optional<TensorSpec>& spec) {
  if (!spec || spec->dtype != DType::kU8 || spec->layout != Layout::kHwc ||
      spec->dims.rank() != 3) {
    return std::nullopt;
  }
  for (const std::int64_t size : spec->dims) {
    if (size < 0 || size > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  }
  return ImageSize{static_cast<std::int32_t>(spec->dims[0]),
                   static_cast<std::int32_t>(spec->dims[1]),
                   static_cast<std::int32_t>(spec->dims[2])};
}

TensorSpec SpecOf(const ImageSize& size) {
  return {DType::kU8, Layout::kHwc, {size.height, size.width, size.channels}};
}

}  // namespace headrace::wire
