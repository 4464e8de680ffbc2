#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "headrace/plan_source.h"
#include "trainer_client/plans/local_file.h"
#include "trainer_client/plans/npy_header.h"

namespace headrace {
namespace {

constexpr std::size_t kMostColumns = 64;

// nullopt: a side below 0, or more than 2^62 bytes.
std::optional<std::uint64_t> BytesOf(std::uint64_t element,
                                     const std::vector<std::int64_t>& row_shape) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t bytes = element;
  for (const std::int64_t side : row_shape) {
    if (side < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(side), &bytes) ||
        bytes > kMost) {
      return std::nullopt;
    }
  }
  return bytes;
}

Status CheckCount(std::int64_t rows, std::size_t columns) {
  if (rows < 1) return InvalidArgument("a source of no samples");
  if (columns >= 1 && columns <= kMostColumns) return {};
  return InvalidArgument(std::to_string(columns) + " columns, and there may be 1.." +
                         std::to_string(kMostColumns));
}

struct NumberType {
  std::string_view name;  // NumPy's, without the order of bytes
  std::uint64_t bytes;
  std::optional<DType> same;
};
constexpr NumberType kTypes[] = {
    {"u1", 1, DType::kU8},   {"i1", 1, DType::kI8},   {"b1", 1, DType::kBool},
    {"i2", 2, DType::kI16},  {"i4", 4, DType::kI32},  {"i8", 8, DType::kI64},
    {"f2", 2, DType::kF16},  {"f4", 4, DType::kF32},  {"f8", 8, DType::kF64},
    {"u2", 2, std::nullopt}, {"u4", 4, std::nullopt}, {"u8", 8, std::nullopt}};

// Of "<f4", "|u1"; nullptr: it is no number.
const NumberType* TypeOf(std::string_view elements) {
  if (elements.size() < 2 || std::string_view("<>|").find(elements[0]) == std::string_view::npos) {
    return nullptr;
  }
  const auto* const found = std::ranges::find(kTypes, elements.substr(1), &NumberType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

// Whether workers make one of the other: integers become integers, float32 and float64.
bool Becomes(const NumberType& type, DType made) {
  if (type.same == made) return true;
  const bool whole = type.name[0] == 'u' || type.name[0] == 'i';
  return whole && made != DType::kBool && made != DType::kF16 && made != DType::kBF16;
}

// Whether all rows lie in the file.
bool Fits(const FileColumn& column, std::int64_t rows, std::uint64_t row_bytes,
          std::uint64_t size) {
  std::int64_t last = 0;
  if (__builtin_mul_overflow(column.stride, rows - 1, &last) ||
      __builtin_add_overflow(column.first, last, &last)) {
    return false;
  }
  const auto inside = [&](std::int64_t at) {
    return at >= 0 && row_bytes <= size && static_cast<std::uint64_t>(at) <= size - row_bytes;
  };
  return inside(column.first) && inside(last);
}

std::string ColumnName(std::size_t i) { return "column " + std::to_string(i); }

}  // namespace

Result<PlanSource> ArraysSource(std::int64_t rows, const std::vector<ArrayColumn>& columns) {
  HR_RETURN_IF_ERROR(CheckCount(rows, columns.size()));
  PlanSource source;
  source.name = "Arrays";
  SourceLeaf& leaf = source.leaves.emplace_back();
  leaf.source = "arrays";
  leaf.rows = rows;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ArrayColumn& column = columns[i];
    const auto row_bytes = BytesOf(DTypeBytes(column.dtype), column.row_shape);
    std::uint64_t all = 0;
    if (DTypeBytes(column.dtype) == 0 || !row_bytes ||
        __builtin_mul_overflow(*row_bytes, static_cast<std::uint64_t>(rows), &all) ||
        all != column.data.data.size()) {
      return InvalidArgument(ColumnName(i) + ": not " + std::to_string(rows) + " rows");
    }
    const BlobHash hash = HashBlob(column.data.data);
    source.blobs.emplace(hash, column.data);
    leaf.arrays.push_back({hash, column.dtype, column.row_shape});
  }
  return source;
}

Result<NpyRows> NpyColumn(const std::string& path) {
  HR_TRY(const client::LocalFile file, client::LocalFile::Open(path));
  HR_TRY(const Bytes head, file.Read(0, client::kNpyHead));
  Result<client::NpyHeader> header = client::ReadNpyHeader(head);
  if (!header.ok()) return header.status().WithContext(file.path());
  const NumberType* type = TypeOf(header->elements);
  if (type == nullptr || header->shape.empty()) {
    return Unsupported(file.path() + ": elements '" + header->elements + "' of " +
                       std::to_string(header->shape.size()) + " dimensions are no rows of numbers");
  }
  NpyRows made;
  made.rows = header->shape.front();
  made.column.path = file.path();
  made.column.first = static_cast<std::int64_t>(header->bytes);
  made.column.row_shape.assign(header->shape.begin() + 1, header->shape.end());
  const auto row_bytes = BytesOf(type->bytes, made.column.row_shape);
  if (!row_bytes) return DataLoss(file.path() + ": rows of an impossible size");
  made.column.stride = static_cast<std::int64_t>(*row_bytes);
  // torch has no unsigned numbers of 2 bytes and more: they become int64, as NumPy's astype makes them.
  made.column.dtype = type->same.value_or(DType::kI64);
  if (!type->same || header->elements[0] == '>') made.column.elements = header->elements;
  return made;
}

Result<PlanSource> ArrayFilesSource(std::int64_t rows, const std::vector<FileColumn>& columns) {
  HR_RETURN_IF_ERROR(CheckCount(rows, columns.size()));
  PlanSource source;
  SourceLeaf& leaf = source.leaves.emplace_back();
  leaf.source = "array_files";
  leaf.rows = rows;
  std::map<std::string, std::pair<std::int64_t, std::uint64_t>> files;  // number and size, by path
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const FileColumn& column = columns[i];
    HR_TRY(const client::LocalFile file, client::LocalFile::Open(column.path));
    const auto [known, added] =
        files.try_emplace(file.path(), static_cast<std::int64_t>(files.size()), file.size());
    const auto& [number, size] = known->second;
    if (added) {
      leaf.args["path" + std::to_string(number)] = file.path();
      leaf.args["version" + std::to_string(number)] = file.version();
    }
    std::uint64_t element = DTypeBytes(column.dtype);
    if (!column.elements.empty()) {
      const NumberType* type = TypeOf(column.elements);
      if (type == nullptr) {
        return InvalidArgument(ColumnName(i) + ": elements '" + column.elements +
                               "' are no type of NumPy's, such as <u2");
      }
      if (!Becomes(*type, column.dtype)) {
        return InvalidArgument(ColumnName(i) + ": elements '" + column.elements +
                               "' do not become those of the column");
      }
      element = type->bytes;
    }
    const auto row_bytes = BytesOf(element, column.row_shape);
    if (element == 0 || !row_bytes || !Fits(column, rows, *row_bytes, size)) {
      return InvalidArgument(ColumnName(i) + ": rows reach beyond " + file.path());
    }
    leaf.args["place" + std::to_string(i)] =
        std::vector<std::int64_t>{number, column.first, column.stride};
    if (!column.elements.empty()) leaf.args["elements" + std::to_string(i)] = column.elements;
    leaf.arrays.push_back({BlobHash(), column.dtype, column.row_shape});
    if (i == 0) source.name = "ArrayFiles(" + file.path() + ")";
  }
  return source;
}

Result<PlanSource> JoinSources(std::vector<PlanSource> sources) {
  if (sources.empty()) return InvalidArgument("a source of no samples");
  PlanSource joined = std::move(sources.front());
  const auto kind = [](const SourceLeaf& leaf) {
    std::vector<std::pair<DType, std::vector<std::int64_t>>> columns;
    for (const SourceLeaf::Array& array : leaf.arrays)
      columns.emplace_back(array.dtype, array.row_shape);
    return columns;
  };
  for (std::size_t i = 1; i < sources.size(); ++i) {
    for (SourceLeaf& leaf : sources[i].leaves) {
      if (joined.leaves.empty() || kind(leaf) != kind(joined.leaves.front())) {
        return InvalidArgument("source " + std::to_string(i) +
                               " has another kind of samples than source 0");
      }
      joined.leaves.push_back(std::move(leaf));
    }
    joined.blobs.merge(sources[i].blobs);
  }
  return joined;
}

}  // namespace headrace
