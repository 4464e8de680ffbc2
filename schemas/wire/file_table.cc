#include <cstring>
#include <string_view>

#include "base/check.h"
#include "schemas/fbs/file_table_generated.h"
#include "schemas/wire/message.h"
#include "schemas/wire/writer_internal.h"

namespace headrace::wire {

Bytes EncodeFileTable(const FileTable& table) {
  HR_CHECK(table.paths.size() == table.labels.size());
  std::size_t pool_bytes = 0;
  for (const std::string& path : table.paths) pool_bytes += path.size();
  HR_CHECK(FileTableFits(table.paths.size(), pool_bytes));
  Builder builder(pool_bytes + 12 * table.paths.size() + table.root.size() + 256);
  std::uint8_t* pool = nullptr;
  const auto pool_offset = builder.CreateUninitializedVector<std::uint8_t>(pool_bytes, &pool);
  for (const std::string& path : table.paths) {
    std::memcpy(pool, path.data(), path.size());
    pool += path.size();
  }
  std::uint32_t* ends = nullptr;
  const auto ends_offset =
      builder.CreateUninitializedVector<std::uint32_t>(table.paths.size(), &ends);
  std::uint32_t end = 0;
  for (const std::string& path : table.paths) {
    end += static_cast<std::uint32_t>(path.size());
    *ends++ = end;
  }
  const auto labels = builder.CreateVector(table.labels.data(), table.labels.size());
  const auto root = WriteText(builder, table.root);
  builder.Finish(fb::CreateFileTable(builder, root, ends_offset, pool_offset, labels),
                 fb::FileTableIdentifier());
  return TakeBody(builder);
}

Bytes EncodeFileTable(const std::string& root, const PackedPaths& paths) {
  HR_CHECK(paths.ends.size() == paths.labels.size());
  HR_CHECK(FileTableFits(paths.ends.size(), paths.pool.size()));
  Builder builder(paths.pool.size() + 12 * paths.ends.size() + root.size() + 256);
  const auto pool = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(paths.pool.data()),
                                         paths.pool.size());
  const auto ends = builder.CreateVector(paths.ends.data(), paths.ends.size());
  const auto labels = builder.CreateVector(paths.labels.data(), paths.labels.size());
  const auto text = WriteText(builder, root);
  builder.Finish(fb::CreateFileTable(builder, text, ends, pool, labels), fb::FileTableIdentifier());
  return TakeBody(builder);
}

Result<FileTableView> FileTableView::Open(ByteSpan bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::int64_t) != 0) {
    return InvalidArgument("file table at an odd address");
  }
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return InvalidArgument("file table of " + std::to_string(bytes.size()) + " bytes");
  }
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (!fb::VerifyFileTableBuffer(verifier)) return InvalidArgument("damaged file table");
  const fb::FileTable* table = fb::GetFileTable(bytes.data());
  const std::size_t rows = table->ends() == nullptr ? 0 : table->ends()->size();
  const std::size_t labels = table->labels() == nullptr ? 0 : table->labels()->size();
  const std::size_t pool = table->pool() == nullptr ? 0 : table->pool()->size();
  if (rows != labels) {
    return InvalidArgument("file table of " + std::to_string(rows) + " paths and " +
                           std::to_string(labels) + " labels");
  }
  // One pass over four bytes a row (a millisecond for 1.28 million), so that reads need no check.
  std::uint32_t last = 0;
  bool ordered = true;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t end = table->ends()->Get(static_cast<flatbuffers::uoffset_t>(i));
    ordered &= last <= end;
    last = end;
  }
  if (!ordered || last != pool) return InvalidArgument("file table with paths outside its pool");
  FileTableView view;
  view.table_ = table;
  return view;
}

std::int64_t FileTableView::size() const {
  const auto* ends = static_cast<const fb::FileTable*>(table_)->ends();
  return ends == nullptr ? 0 : ends->size();
}

std::string_view FileTableView::Entry(std::int64_t row) const {
  HR_CHECK(row >= 0 && row < size());
  const auto* table = static_cast<const fb::FileTable*>(table_);
  const auto index = static_cast<flatbuffers::uoffset_t>(row);
  const std::uint32_t begin = index == 0 ? 0 : table->ends()->Get(index - 1);
  const std::uint32_t end = table->ends()->Get(index);
  if (end == begin) return {};
  return {reinterpret_cast<const char*>(table->pool()->Data()) + begin, end - begin};
}

std::string FileTableView::Path(std::int64_t row) const {
  const auto* table = static_cast<const fb::FileTable*>(table_);
  const std::string_view name = Entry(row);
  if (table->root() == nullptr || name.starts_with('/')) return std::string(name);
  std::string path;
  path.reserve(table->root()->size() + 1 + name.size());
  path.append(table->root()->c_str(), table->root()->size());
  if (!path.ends_with('/')) path += '/';
  path += name;
  return path;
}

std::int64_t FileTableView::Label(std::int64_t row) const {
  HR_CHECK(row >= 0 && row < size());
  const auto* table = static_cast<const fb::FileTable*>(table_);
  // Copies bytes, since the verifier lets a vector of 8-byte elements begin at any multiple of 4.
  std::int64_t label = 0;
  std::memcpy(&label, table->labels()->Data() + row * std::int64_t{sizeof(label)}, sizeof(label));
  return label;
}

}  // namespace headrace::wire
