#include "trainer_client/session/content_check.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/file_witness.h"
#include "base/hash.h"
#include "base/log.h"

namespace headrace::client {
namespace {

// A program opens many sessions, and gets one message about each worker.
bool FirstTime(const std::string& where) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  return said.insert(where).second;
}

Result<FileWitness> WitnessOf(const ContentCheck::Place& place, bool whole) {
  std::vector<FileWitness> files;
  for (const std::string& path : place.paths) {
    Result<FileWitness> read =
        place.range ? ReadWitness(path, *place.range, whole) : ReadWitness(path, whole);
    HR_TRY(const FileWitness file, std::move(read));
    files.push_back(file);
  }
  return JoinWitnesses(files);
}

std::string NamesOf(const std::vector<std::string>& paths) {
  std::string names = paths.front();
  for (std::size_t i = 1; i < paths.size(); ++i) names += " or " + paths[i];
  return names;
}

constexpr const char* kRemedy =
    "; the trainer makes such samples itself: give that worker the files that the trainer has";

}  // namespace

ContentCheck::ContentCheck(std::shared_ptr<net::Reactor> reactor, const Plan& plan,
                           const BlobStore& blobs, std::span<const std::int64_t> row_map)
    : reactor_(std::move(reactor)), row_map_(row_map) {
  if (plan.has_python_stage) return;
  for (const SourceLeaf& leaf : plan.leaves) {
    // Objects are named by URLs, and identified by their versions: there is no file of ours.
    const bool of_files =
        leaf.table.valid() && leaf.source != "objects" && leaf.source != "object_ranges";
    const Blob* blob = of_files ? blobs.Find(leaf.table) : nullptr;
    if (blob != nullptr && leaf.source == "file_ranges") {
      Result<wire::RangeTableView> ranges = wire::RangeTableView::Open(blob->data);
      if (ranges.ok()) {
        tables_.push_back({rows_, std::min(leaf.rows, ranges->size()), 1, {}, *ranges});
      }
    } else if (blob != nullptr) {
      Result<wire::FileTableView> files = wire::FileTableView::Open(blob->data);
      const Result<int> a_row = FilesOf(leaf);
      if (files.ok() && a_row.ok()) {
        tables_.push_back({rows_, std::min(leaf.rows, files->size() / *a_row), *a_row, *files, {}});
      }
    }
    rows_ += leaf.rows;
  }
}

ContentCheck::~ContentCheck() {
  *alive_ = false;
  if (reader_) reader_->Stop();
}

std::int64_t ContentCheck::RowOf(std::int64_t key) const {
  if (key < 0) return -1;
  if (row_map_.empty()) return key < rows_ ? key : -1;
  return static_cast<std::size_t>(key) < row_map_.size() ? row_map_[static_cast<std::size_t>(key)]
                                                         : -1;
}

const ContentCheck::Table* ContentCheck::TableOf(std::int64_t row) const {
  const auto found = std::ranges::find_if(tables_, [row](const Table& table) {
    return row >= table.first_row && row < table.first_row + table.rows;
  });
  return found == tables_.end() ? nullptr : &*found;
}

ContentCheck::Place ContentCheck::PlaceOf(std::int64_t row) const {
  const Table* const table = TableOf(row);
  if (table == nullptr) return {};
  const std::int64_t first = (row - table->first_row) * table->files_a_row;
  if (table->ranges) {
    const wire::RangeTableView::Range range = table->ranges->At(first);
    return {{table->ranges->Shard(range.shard)}, FileRange{range.first, range.size}};
  }
  Place place;
  for (std::int64_t i = 0; i < table->files_a_row; ++i) {
    place.paths.push_back(table->files->Path(first + i));
  }
  return place;
}

void ContentCheck::Ask(WorkerId worker, wire::BatchRequest& request) {
  if (tables_.empty()) return;
  std::vector<bool>& vouched = vouched_[worker];
  vouched.resize(static_cast<std::size_t>(rows_));
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    const std::int64_t row = RowOf(request.keys[i]);
    if (TableOf(row) == nullptr) continue;
    const bool again = MixBits(++asked_) % kAgainOneIn == 0;
    if (vouched[static_cast<std::size_t>(row)] && !again) continue;
    const auto position = static_cast<std::int32_t>(i);
    if (std::ranges::find(request.skip, position) != request.skip.end()) continue;
    request.witness.push_back(position);
    if (MixBits(static_cast<std::uint64_t>(row)) % kWholeOneIn == 0) {
      request.witness_whole.push_back(position);
    }
  }
}

void ContentCheck::Check(Question question, OnChecked done) {
  auto items = std::make_shared<std::vector<Item>>();
  for (const std::int32_t position : question.positions) {
    if (std::ranges::find(question.failures, position, &wire::SampleFailure::position) !=
        question.failures.end()) {
      continue;  // the trainer makes it anyway
    }
    const std::int64_t row = RowOf(question.keys[static_cast<std::size_t>(position)]);
    Place place = PlaceOf(row);
    if (place.paths.empty()) continue;  // an array: its bytes came from here
    Item& item = items->emplace_back(Item{position, row, std::move(place), {}, {}});
    const auto told = std::ranges::find(question.witnesses, position, &wire::Witness::position);
    if (told != question.witnesses.end()) item.theirs = told->file;
  }
  if (!reader_) {
    Result<std::unique_ptr<net::Reactor>> made = net::Reactor::Make("hr-content");
    if (made.ok() && (*made)->Start().ok()) reader_ = std::move(made).value();
  }
  auto compare = [items, same_host = question.same_host] {
    for (Item& item : *items) {
      if (!item.theirs) {
        item.difference = "that worker does not tell what the file is";
        continue;
      }
      const Result<FileWitness> ours = WitnessOf(item.place, item.theirs->whole != 0);
      item.difference =
          ours.ok() ? Difference(*ours, *item.theirs, same_host) : ours.status().message();
    }
  };
  auto finish = [this, alive = alive_, items, question = std::move(question),
                 done = std::move(done)] {
    if (*alive) Finish(question, *items, done);
  };
  if (!reader_) {  // no thread is available: reads here
    compare();
    reactor_->Post(std::move(finish));
    return;
  }
  reader_->Post(
      [reactor = reactor_, compare = std::move(compare), finish = std::move(finish)]() mutable {
        compare();
        reactor->Post(std::move(finish));
      });
}

void ContentCheck::Finish(const Question& question, const std::vector<Item>& items,
                          const OnChecked& done) {
  std::vector<wire::SampleFailure> differ;
  for (const Item& item : items) {
    std::vector<bool>& vouched = vouched_[question.worker];
    vouched.resize(static_cast<std::size_t>(rows_));
    vouched[static_cast<std::size_t>(item.row)] = item.difference.empty();
    if (item.difference.empty()) continue;
    const std::string what =
        "has not the trainer's file " + NamesOf(item.place.paths) + ": " + item.difference;
    const std::string text = question.where + " " + what;
    if (unfit_.emplace(question.worker, what).second && FirstTime(question.where)) {
      LogWarning(text + kRemedy);
    }
    differ.push_back({.position = item.position,
                      .code = Code::kUnavailable,
                      .message = text,
                      .detail = Detail::kOtherContent});
  }
  done(std::move(differ));
}

}  // namespace headrace::client
