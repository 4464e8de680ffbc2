// Encoded images that are ranges of shards, which are local files: tars and zips, for two.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/source/files/blocking_source.h"
#include "dataworker/source/files/file_reader.h"
#include "dataworker/source/ranges/ranges.h"

namespace headrace::dataworker {
namespace {

class FileRanges final : public BlockingSource {
 public:
  FileRanges(BlobContent bytes, wire::RangeTableView table,
             const SourceRegistry::Environment& environment)
      : BlockingSource(environment),
        bytes_(std::move(bytes)),
        table_(std::move(table)),
        reader_(environment.allowed_roots, environment.read_header) {}

  [[nodiscard]] std::int64_t rows() const override { return table_.size(); }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override {
    const wire::RangeTableView::Range range = table_.At(row);
    return table_.Shard(range.shard) + " at byte " + std::to_string(range.first);
  }

 private:
  [[nodiscard]] RowAnswer Answer(Ask ask, std::int64_t row, ScratchBuffer& buffer,
                                 Pace& pace) const override {
    const wire::RangeTableView::Range range = table_.At(row);
    const FilePlace place{.path = table_.Shard(range.shard),
                          .range = FileRange{range.first, range.size},
                          .version = table_.Version(range.shard),
                          .member = table_.Member(row)};
    RowAnswer answer;
    answer.status = reader_.Fill(ask, place, buffer, pace, answer);
    return answer;
  }
  [[nodiscard]] std::int64_t LabelOf(std::int64_t row) const override { return table_.Label(row); }

  // Neighbours are read by one task: the device is asked for them together.
  [[nodiscard]] std::vector<std::vector<std::size_t>> Tasks(
      Ask ask, std::span<const std::int64_t> rows) const override {
    if (ask != Ask::kBytes) return BlockingSource::Tasks(ask, rows);
    std::vector<std::vector<std::size_t>> tasks;
    std::vector<std::size_t> valid;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (CheckRow(rows[i], this->rows()).ok()) {
        valid.push_back(i);
      } else {
        tasks.push_back({i});
      }
    }
    for (RangeRun& run : JoinNeighbours(table_, rows, std::move(valid))) {
      tasks.push_back(std::move(run.indexes));
    }
    return tasks;
  }
  void Expect(Ask ask, std::span<const std::int64_t> rows) const override {
    if (ask != Ask::kBytes || rows.size() < 2) return;
    const wire::RangeTableView::Range from = table_.At(rows.front());
    std::uint64_t end = 0;
    for (const std::int64_t row : rows) {
      const wire::RangeTableView::Range range = table_.At(row);
      end = std::max(end, range.first + range.size);
    }
    reader_.Expect(table_.Shard(from.shard), {from.first, end - from.first});
  }

  const BlobContent bytes_;  // keeps the view's memory
  const wire::RangeTableView table_;
  const FileReader reader_;
};

Result<std::unique_ptr<Source>> MakeFileRanges(const SourceLeaf& leaf,
                                               const SourceRegistry::Environment& environment) {
  HR_RETURN_IF_ERROR(CheckNoArgs(WithoutMembers(leaf)));
  HR_TRY(OpenedRanges table, OpenRanges(leaf, environment.blob));
  return std::unique_ptr<Source>(
      std::make_unique<FileRanges>(std::move(table.bytes), std::move(table.view), environment));
}

}  // namespace

void RegisterSourceFileRanges(SourceRegistry& registry) {
  registry.Add("file_ranges", MakeFileRanges);
}

}  // namespace headrace::dataworker
