#include "schemas/wire/range_table.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "schemas/fbs/range_table_generated.h"
#include "schemas/wire/writer_internal.h"

namespace headrace::wire {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 31) - 65536;

template <typename T>
std::size_t Count(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Copies bytes, since the verifier lets a vector of 8-byte elements begin at any multiple of 4.
template <typename T>
T Item(const flatbuffers::Vector<T>* vector, std::int64_t index) {
  T item;
  std::memcpy(&item, vector->Data() + index * std::int64_t{sizeof(T)}, sizeof(T));
  return item;
}

std::string_view Text(const flatbuffers::Vector<std::uint32_t>* ends,
                      const flatbuffers::Vector<std::uint8_t>* pool, std::int64_t index) {
  const std::uint32_t begin = index == 0 ? 0 : Item(ends, index - 1);
  const std::uint32_t end = Item(ends, index);
  if (begin == end) return {};
  return {reinterpret_cast<const char*>(pool->Data()) + begin, end - begin};
}

const fb::RangeTable& Root(const void* table) { return *static_cast<const fb::RangeTable*>(table); }

// Numbers that never fall, and the last of which is `last`.
template <typename Items>
bool Climbs(const Items& item, std::size_t count, std::uint64_t last) {
  std::uint64_t before = 0;
  bool climbs = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t end = item(i);
    climbs &= before <= end;
    before = end;
  }
  return climbs && before == last;
}

template <typename T>
auto Of(std::span<const T> items) {
  return [items](std::size_t i) { return std::uint64_t{items[i]}; };
}
template <typename T>
auto Of(const flatbuffers::Vector<T>* items) {
  return
      [items](std::size_t i) { return std::uint64_t{Item(items, static_cast<std::int64_t>(i))}; };
}

constexpr const char* kUnfit = "a range table whose parts do not fit each other";

}  // namespace

std::string VersionOfFile(std::uint64_t size, std::int64_t mtime_ns) {
  return std::to_string(size) + "-" + std::to_string(mtime_ns);
}

Result<Bytes> EncodeRangeTable(const RangeTable& table) {
  const std::size_t rows = table.firsts.size(), shards = table.shard_ends.size();
  if (table.sizes.size() != rows || table.labels.size() != rows ||
      (!table.members.empty() && table.members.size() != rows) ||
      table.version_ends.size() != shards || table.row_ends.size() != shards ||
      !Climbs(Of(table.shard_ends), shards, table.shard_pool.size()) ||
      !Climbs(Of(table.version_ends), shards, table.version_pool.size()) ||
      !Climbs(Of(table.row_ends), shards, rows)) {
    return InvalidArgument(kUnfit);
  }
  const std::size_t bytes = table.shard_pool.size() + table.version_pool.size() + 16 * shards +
                            20 * rows + table.members.size_bytes() + table.root.size() + 256;
  if (bytes > kMostBytes) {
    return InvalidArgument("a range table of " + std::to_string(rows) + " rows is too large");
  }
  Builder builder(bytes);
  const auto pool = [&builder](std::string_view text) {
    return builder.CreateVector(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  const auto items = [&builder](const auto& span) {
    return builder.CreateVector(span.data(), span.size());
  };
  const auto root = WriteText(builder, table.root);
  const auto shard_ends = items(table.shard_ends);
  const auto shard_pool = pool(table.shard_pool);
  const auto version_ends = items(table.version_ends);
  const auto version_pool = pool(table.version_pool);
  const auto row_ends = items(table.row_ends);
  const auto firsts = items(table.firsts);
  const auto sizes = items(table.sizes);
  const auto labels = items(table.labels);
  flatbuffers::Offset<flatbuffers::Vector<const fb::ZipMember*>> members;
  if (!table.members.empty()) {
    fb::ZipMember* out = nullptr;
    members = builder.CreateUninitializedVectorOfStructs(table.members.size(), &out);
    for (const ZipMember& one : table.members) {
      *out++ = fb::ZipMember(one.packed_size, one.size, one.crc);
    }
  }
  builder.Finish(fb::CreateRangeTable(builder, root, shard_ends, shard_pool, version_ends,
                                      version_pool, row_ends, firsts, sizes, labels, members),
                 fb::RangeTableIdentifier());
  return TakeBody(builder);
}

Result<RangeTableView> RangeTableView::Open(ByteSpan bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::int64_t) != 0) {
    return InvalidArgument("range table at an odd address");
  }
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return InvalidArgument("range table of " + std::to_string(bytes.size()) + " bytes");
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (!fb::VerifyRangeTableBuffer(verifier)) return InvalidArgument("damaged range table");
  const fb::RangeTable* table = fb::GetRangeTable(bytes.data());
  const std::size_t rows = Count(table->firsts()), shards = Count(table->shard_ends());
  // One pass, so that reads need no check.
  const std::size_t members = table->members() == nullptr ? 0 : table->members()->size();
  if (Count(table->sizes()) != rows || Count(table->labels()) != rows ||
      (members != 0 && members != rows) || Count(table->version_ends()) != shards ||
      Count(table->row_ends()) != shards ||
      !Climbs(Of(table->shard_ends()), shards, Count(table->shard_pool())) ||
      !Climbs(Of(table->version_ends()), shards, Count(table->version_pool())) ||
      !Climbs(Of(table->row_ends()), shards, rows)) {
    return InvalidArgument(kUnfit);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::int64_t>(row);
    // No file is so large, and no sum of such an end and a header overflows.
    if (Item(table->firsts(), at) > std::uint64_t{1} << 62) {
      return InvalidArgument("range table with a row beyond every file");
    }
  }
  RangeTableView view;
  view.table_ = table;
  return view;
}

std::int64_t RangeTableView::size() const {
  return static_cast<std::int64_t>(Count(Root(table_).firsts()));
}

std::int64_t RangeTableView::shards() const {
  return static_cast<std::int64_t>(Count(Root(table_).shard_ends()));
}

RangeTableView::Range RangeTableView::At(std::int64_t row) const {
  HR_CHECK(row >= 0 && row < size());
  const fb::RangeTable& table = Root(table_);
  std::int64_t low = 0, high = shards() - 1;  // the first shard whose rows end after this one
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (Item(table.row_ends(), middle) > static_cast<std::uint64_t>(row)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, Item(table.firsts(), row), Item(table.sizes(), row)};
}

std::int64_t RangeTableView::Label(std::int64_t row) const {
  HR_CHECK(row >= 0 && row < size());
  return Item(Root(table_).labels(), row);
}

bool RangeTableView::has_members() const {
  const auto* members = Root(table_).members();
  return members != nullptr && members->size() != 0;
}

std::optional<ZipMember> RangeTableView::Member(std::int64_t row) const {
  HR_CHECK(row >= 0 && row < size());
  if (!has_members()) return std::nullopt;
  const fb::ZipMember* one = Root(table_).members()->Get(static_cast<flatbuffers::uoffset_t>(row));
  return ZipMember{one->packed_size(), one->size(), one->crc()};
}

std::string RangeTableView::Shard(std::int64_t shard) const {
  HR_CHECK(shard >= 0 && shard < shards());
  const fb::RangeTable& table = Root(table_);
  const std::string_view name = Text(table.shard_ends(), table.shard_pool(), shard);
  if (table.root() == nullptr || name.starts_with('/')) return std::string(name);
  std::string path(table.root()->c_str(), table.root()->size());
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string_view RangeTableView::Version(std::int64_t shard) const {
  HR_CHECK(shard >= 0 && shard < shards());
  return Text(Root(table_).version_ends(), Root(table_).version_pool(), shard);
}

}  // namespace headrace::wire
