#include "ops/vision/pil/image_ops.h"

#include <algorithm>

#include "ops/vision/pil/byte_map.h"

namespace headrace::ops {
namespace {

using Histogram = std::array<std::int64_t, 256>;

std::array<Histogram, 3> HistogramsOf(const Canvas& image) {
  std::array<Histogram, 3> counts{};
  if (image.spec.channels == 1) {
    ForEachPixel(image, [&](const std::uint8_t* p) { ++counts[0][p[0]]; });
  } else {
    ForEachPixel(image, [&](const std::uint8_t* p) {
      ++counts[0][p[0]];
      ++counts[1][p[1]];
      ++counts[2][p[2]];
    });
  }
  return counts;
}

ByteTable IdentityTable() {
  return MakeByteTable([](int v) { return v; });
}

std::uint8_t Clip8(std::int64_t value) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255));
}

// Source: PIL/ImageOps.py, autocontrast.
ByteTable StretchTable(const Histogram& counts) {
  int low = 0;
  while (low < 255 && counts[static_cast<std::size_t>(low)] == 0) ++low;
  int high = 255;
  while (high > 0 && counts[static_cast<std::size_t>(high)] == 0) --high;
  if (high <= low) return IdentityTable();
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  ByteTable table;
  for (int v = 0; v < 256; ++v) {
    table[static_cast<std::size_t>(v)] = Clip8(static_cast<std::int64_t>(v * scale + offset));
  }
  return table;
}

// Source: PIL/ImageOps.py, equalize.
ByteTable EqualizeTable(const Histogram& counts) {
  std::int64_t sum = 0;
  std::int64_t last = 0;  // the count of the highest value
  int values = 0;
  for (const std::int64_t count : counts) {
    if (count == 0) continue;
    sum += count;
    last = count;
    ++values;
  }
  const std::int64_t step = (sum - last) / 255;
  if (values <= 1 || step == 0) return IdentityTable();
  ByteTable table;
  std::int64_t n = step / 2;
  for (std::size_t v = 0; v < 256; ++v) {
    table[v] = Clip8(n / step);
    n += counts[v];
  }
  return table;
}

template <typename TableOf>
void MapByHistogram(const Canvas& image, TableOf table_of) {
  const std::array<Histogram, 3> counts = HistogramsOf(image);
  MapValues(image, std::array<ByteTable, 3>{table_of(counts[0]), table_of(counts[1]),
                                            table_of(counts[2])});
}

}  // namespace

void Invert(const Canvas& image) {
  MapValues(image, MakeByteTable([](int v) { return 255 - v; }));
}

void Posterize(const Canvas& image, int bits) {
  const int dropped = (1 << (8 - bits)) - 1;
  MapValues(image, MakeByteTable([&](int v) { return v & ~dropped; }));
}

void Solarize(const Canvas& image, double threshold) {
  MapValues(image, MakeByteTable([&](int v) { return v < threshold ? v : 255 - v; }));
}

void SolarizeAdd(const Canvas& image, int add) {
  constexpr int kBound = 128;
  const auto added = [&](int v) { return v < kBound ? std::min(255, v + add) : v; };
  MapValues(image, MakeByteTable(added));
}

void AutoContrast(const Canvas& image) { MapByHistogram(image, StretchTable); }

void Equalize(const Canvas& image) { MapByHistogram(image, EqualizeTable); }

}  // namespace headrace::ops
