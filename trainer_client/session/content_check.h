#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_witness.h"
#include "base/graph.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"
#include "schemas/wire/range_table.h"
#include "trainer_client/session/blob_store.h"

namespace headrace::client {

// Checks that workers see the files that the trainer sees: docs/adr/0026-content.md. A worker bears
// witness of each file with the first sample that it makes of it. It does so again later for some
// files, and for some as a whole. The check compares this with the trainer's own file, on a thread
// of its own, before the sample counts. Reactor thread; Check's answer comes there too.
class ContentCheck {
 public:
  // One in kAgainOneIn of the vouched files is checked once more. One in kWholeOneIn of all is read
  // whole.
  static constexpr std::uint64_t kAgainOneIn = 256;
  static constexpr std::uint64_t kWholeOneIn = 16;

  // `blobs` and the memory of `row_map` (key -> row; empty: the same) outlive this. Plans without
  // files of their own have nothing to compare.
  ContentCheck(std::shared_ptr<net::Reactor> reactor, const Plan& plan, const BlobStore& blobs,
               std::span<const std::int64_t> row_map);
  ~ContentCheck();
  ContentCheck(const ContentCheck&) = delete;
  ContentCheck& operator=(const ContentCheck&) = delete;

  // Fills in the positions that this worker must bear witness of in this request.
  void Ask(WorkerId worker, wire::BatchRequest& request);

  struct Question {
    WorkerId worker;
    std::string where;       // what to call the worker
    bool same_host = false;  // device, inode and times mean the same there
    std::vector<std::int64_t> keys;
    std::vector<std::int32_t> positions;  // that were asked for
    std::vector<wire::SampleFailure> failures;
    std::vector<wire::Witness> witnesses;
  };
  // The samples that were made of other bytes than the trainer's, or of unknown ones.
  using OnChecked = std::function<void(std::vector<wire::SampleFailure>)>;
  // Compares, and calls `done` later, unless this object ends before.
  void Check(Question question, OnChecked done);
  // Whether some file of this worker differed.
  [[nodiscard]] bool unfit(WorkerId worker) const { return unfit_.contains(worker); }
  // Those workers, each with what it has not.
  [[nodiscard]] const std::map<WorkerId, std::string>& all_unfit() const { return unfit_; }
  // The paths of the row's files; empty: an array.
  [[nodiscard]] std::vector<std::string> PathsOf(std::int64_t row) const {
    return PlaceOf(row).paths;
  }

  // Where a row's bytes are: files, or a range of one.
  struct Place {
    std::vector<std::string> paths;
    std::optional<FileRange> range = std::nullopt;
  };

 private:
  struct Item {
    std::int32_t position;
    std::int64_t row;
    Place place;
    std::optional<FileWitness> theirs;
    std::string difference;  // found out
  };
  struct Table {
    std::int64_t first_row;
    std::int64_t rows;
    std::int64_t files_a_row;
    std::optional<wire::FileTableView> files;
    std::optional<wire::RangeTableView> ranges;  // in place of files
  };
  // nullptr: an array or an object, of which nobody bears witness.
  [[nodiscard]] const Table* TableOf(std::int64_t row) const;
  [[nodiscard]] Place PlaceOf(std::int64_t row) const;
  [[nodiscard]] std::int64_t RowOf(std::int64_t key) const;
  void Finish(const Question& question, const std::vector<Item>& items, const OnChecked& done);

  std::shared_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::Reactor> reader_;  // made with the first question
  std::span<const std::int64_t> row_map_;
  std::int64_t rows_ = 0;
  std::vector<Table> tables_;
  std::map<WorkerId, std::vector<bool>> vouched_;  // by row
  std::map<WorkerId, std::string> unfit_;
  std::uint64_t asked_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // reactor thread
};

}  // namespace headrace::client
