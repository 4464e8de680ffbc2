#include "dataworker/source/array_files/array_places.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "dataworker/source/ranges/ranges.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kMostColumns = 64;
constexpr std::int64_t kMostFileBytes = std::int64_t{1} << 62;

// Takes arguments one by one, and knows which ones nobody asked for.
class LeafArgs {
 public:
  explicit LeafArgs(const Args& args) : args_(args) {}

  // nullptr: there is none of that name and type.
  template <typename T>
  const T* Take(const std::string& name) {
    const auto found = args_.find(name);
    if (found == args_.end()) return nullptr;
    const T* const value = std::get_if<T>(&found->second);
    if (value != nullptr) taken_.insert(name);
    return value;
  }
  [[nodiscard]] Status CheckAllTaken() const {
    for (const auto& [name, value] : args_) {
      if (taken_.contains(name)) continue;
      return InvalidArgument("the source 'array_files' has no argument '" + name +
                             "', or not of that type");
    }
    return {};
  }

 private:
  const Args& args_;
  std::set<std::string> taken_;
};

// The size that a version begins with; nullopt: it is no version of a file.
std::optional<std::int64_t> SizeIn(std::string_view version) {
  std::int64_t size = -1;
  const char* const end = version.data() + version.size();
  const auto [at, error] = std::from_chars(version.data(), end, size);
  if (error != std::errc() || at == end || *at != '-' || size < 0) return std::nullopt;
  return size;
}

// Whether all rows lie in the first `most` bytes.
bool Fits(const FileColumn& column, std::int64_t rows, std::int64_t most) {
  if (column.size > Source::kMaxEncodedBytes) return false;
  const auto size = static_cast<std::int64_t>(column.size);
  const auto inside = [&](std::int64_t at) { return at >= 0 && at <= most - size; };
  std::int64_t last = 0;
  if (rows > 0 && (__builtin_mul_overflow(column.stride, rows - 1, &last) ||
                   __builtin_add_overflow(column.first, last, &last))) {
    return false;
  }
  return rows == 0 || (inside(column.first) && inside(last));
}

Result<FileColumn> ReadFileColumn(const SourceLeaf& leaf, std::size_t i,
                                  const std::vector<std::int64_t>& place, std::string_view elements,
                                  const std::vector<std::int64_t>& file_sizes) {
  const std::string name = "array " + std::to_string(i);
  const SourceLeaf::Array& array = leaf.arrays[i];
  const std::optional<std::size_t> row_bytes = RowBytes(array);
  if (!row_bytes) return InvalidArgument(name + " has an impossible shape or element type");
  if (place.size() != 3 || place[0] < 0 ||
      static_cast<std::size_t>(place[0]) >= file_sizes.size()) {
    return InvalidArgument(name + " has no place");
  }
  HR_TRY(const Elements read, Elements::Make(elements, array.dtype));
  FileColumn column{.file = place[0],
                    .first = place[1],
                    .stride = place[2],
                    .size = *row_bytes / DTypeBytes(array.dtype),
                    .elements = read};
  if (__builtin_mul_overflow(column.size, read.bytes(), &column.size) ||
      !Fits(column, leaf.rows, file_sizes[static_cast<std::size_t>(place[0])])) {
    return InvalidArgument("rows of " + name + " reach beyond their file");
  }
  return column;
}

// Finds what is read together, and where each column is then.
Status Arrange(ArrayPlaces& places) {
  std::vector<FileColumn*> sorted;
  for (ArrayPlaces::Column& column : places.columns) {
    if (column.file) sorted.push_back(&*column.file);
  }
  std::ranges::stable_sort(sorted, {}, [](const FileColumn* column) {
    return std::tuple(column->file, column->stride, column->first);
  });
  std::vector<std::size_t> part_of;  // of the sorted columns
  for (const FileColumn* const column : sorted) {
    RecordPart* const last = places.parts.empty() ? nullptr : &places.parts.back();
    const bool near =
        last != nullptr && last->file == column->file && last->stride == column->stride &&
        column->first - last->first <= static_cast<std::int64_t>(last->size + kMostGap);
    if (!near) {
      places.parts.push_back({column->file, column->first, column->stride, column->size, 0});
    } else {
      const auto after = static_cast<std::uint64_t>(column->first - last->first);
      last->size = std::max(last->size, after + column->size);
    }
    part_of.push_back(places.parts.size() - 1);
  }
  std::size_t next = 0;
  for (RecordPart& part : places.parts) {
    part.in_record = next;
    next += part.size;
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const RecordPart& part = places.parts[part_of[i]];
    sorted[i]->in_record = part.in_record + static_cast<std::size_t>(sorted[i]->first - part.first);
  }
  places.record_bytes = next;
  if (next > Source::kMaxEncodedBytes) return Unsupported("a sample is larger than 1 GiB");
  return {};
}

}  // namespace

Result<ArrayPlaces> ReadArrayPlaces(const SourceLeaf& leaf, const BlobLookup& blob) {
  if (leaf.arrays.empty() || leaf.arrays.size() > kMostColumns || leaf.rows < 0) {
    return InvalidArgument("a source with no arrays, or too many");
  }
  ArrayPlaces places;
  LeafArgs args(leaf.args);
  std::vector<std::int64_t> sizes;
  for (std::size_t f = 0;; ++f) {
    const auto* const path = args.Take<std::string>("path" + std::to_string(f));
    if (path == nullptr) break;
    const auto* const version = args.Take<std::string>("version" + std::to_string(f));
    const std::optional<std::int64_t> size = version ? SizeIn(*version) : std::nullopt;
    if (!size || *size > kMostFileBytes) {
      return InvalidArgument("file " + std::to_string(f) + " has no version");
    }
    places.files.push_back({*path, *version});
    sizes.push_back(*size);
  }
  for (std::size_t i = 0; i < leaf.arrays.size(); ++i) {
    const auto* const place = args.Take<std::vector<std::int64_t>>("place" + std::to_string(i));
    if (place == nullptr) {
      HR_TRY(MemoryColumn memory,
             OpenMemoryColumn(leaf.arrays[i], leaf.rows, blob, "array " + std::to_string(i)));
      const Source::Column column = memory.column;
      places.columns.push_back({column, std::move(memory), std::nullopt});
      continue;
    }
    const auto* const elements = args.Take<std::string>("elements" + std::to_string(i));
    HR_TRY(FileColumn column, ReadFileColumn(leaf, i, *place, elements ? *elements : "", sizes));
    places.columns.push_back({{.dtype = leaf.arrays[i].dtype,
                               .row_shape = leaf.arrays[i].row_shape,
                               .row_bytes = *RowBytes(leaf.arrays[i])},
                              std::nullopt,
                              std::move(column)});
  }
  HR_RETURN_IF_ERROR(args.CheckAllTaken());
  HR_RETURN_IF_ERROR(Arrange(places));
  return places;
}

}  // namespace headrace::dataworker
