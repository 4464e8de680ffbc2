#include "ops/core/value_table.h"

#include <cstdint>
#include <cstring>

#include "ops/core/byte_lookup.h"
#include "ops/core/element.h"

namespace headrace::ops {

int ChannelsOf(const TensorSpec& image) {
  return static_cast<int>(image.dims[image.layout == Layout::kChw ? 0 : 2]);
}

Bytes ValueTable(const Chain& chain, int first) {
  return ValueTable(chain, first, static_cast<int>(chain.nodes().size()), chain.output());
}

Bytes ValueTable(const Chain& chain, int first, int last, const TensorSpec& out) {
  const int channels = ChannelsOf(out);
  const std::size_t element = DTypeBytes(out.dtype);
  Bytes table(static_cast<std::size_t>(channels) * kByteValues * element);
  std::byte* to = table.data();
  for (int c = 0; c < channels; ++c) {
    for (std::size_t v = 0; v < kByteValues; ++v, to += element) {
      auto value = static_cast<double>(v);
      for (int i = first; i < last; ++i) value = chain.schema(i).Map(c, value);
      const std::uint64_t bits = ElementBits(out.dtype, value);
      std::memcpy(to, &bits, element);
    }
  }
  return table;
}

}  // namespace headrace::ops
