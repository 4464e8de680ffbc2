#include "tests/simulation/sim_journal.h"

#include <algorithm>
#include <utility>

#include "coordinator/state/journal_codec.h"

namespace headrace::simulation {

using coordinator::Journal;
using coordinator::Update;

class SimDisk::Handle final : public Journal {
 public:
  Handle(SimDisk& disk, std::shared_ptr<SimProcess> process, std::int64_t records)
      : disk_(disk), process_(std::move(process)), opened_(disk.opened_), records_(records) {}
  ~Handle() override { Stop(); }

  void Append(const std::vector<Update>& updates, std::function<void()> on_durable) override {
    Push(false, updates, std::move(on_durable));
    records_ += static_cast<std::int64_t>(updates.size());
  }
  void Compact(const std::vector<Update>& snapshot) override {
    Push(true, snapshot, nullptr);
    records_ = compacted_ = static_cast<std::int64_t>(snapshot.size());
  }
  [[nodiscard]] std::int64_t waiting() const override {
    std::size_t records = 0;
    for (const std::vector<Item>* items : {&disk_.writing_, &disk_.waiting_}) {
      for (const Item& item : *items) records += item.bodies.size();
    }
    return static_cast<std::int64_t>(records);
  }
  [[nodiscard]] std::int64_t records() const override { return records_; }
  // Often, so that it is met in short runs.
  [[nodiscard]] bool compaction_due() const override {
    return records_ > std::max<std::int64_t>(20, 2 * compacted_);
  }
  void Stop() override {
    if (!mine() || !process_->alive()) return;
    for (std::vector<Item>* items : {&disk_.writing_, &disk_.waiting_}) {
      for (Item& item : std::exchange(*items, {})) disk_.Keep(item);
    }
  }

 private:
  [[nodiscard]] bool mine() const { return disk_.opened_ == opened_; }
  void Push(bool replaces, const std::vector<Update>& updates, std::function<void()> on_durable) {
    if (!mine()) return;
    Item item{.replaces = replaces, .bodies = {}, .on_durable = std::move(on_durable)};
    for (const Update& update : updates) item.bodies.push_back(EncodeUpdate(update));
    disk_.waiting_.push_back(std::move(item));
    if (disk_.writing_.empty()) disk_.WriteNext(process_);
  }

  SimDisk& disk_;
  const std::shared_ptr<SimProcess> process_;
  const std::uint64_t opened_;
  std::int64_t records_;
  std::int64_t compacted_ = 0;
};

Result<Journal::Opened> SimDisk::Open(std::shared_ptr<SimProcess> process) {
  ++opened_;
  Journal::Opened opened;
  for (const std::string& record : records_) {
    HR_TRY(const Update update, coordinator::DecodeUpdate(record));
    HR_RETURN_IF_ERROR(opened.state.Apply(update));
  }
  opened.journal = std::make_unique<Handle>(*this, std::move(process),
                                            static_cast<std::int64_t>(records_.size()));
  return opened;
}

void SimDisk::Keep(const Item& item) {
  if (item.replaces) records_.clear();
  records_.insert(records_.end(), item.bodies.begin(), item.bodies.end());
}

void SimDisk::WriteNext(const std::shared_ptr<SimProcess>& process) {
  writing_ = std::exchange(waiting_, {});
  if (writing_.empty()) return;
  events_.After(dice_.Between(Duration(1), slowest_), [this, process, opened = opened_] {
    process->Run([this, process, opened] {
      if (opened != opened_ || writing_.empty()) return;
      std::vector<Item> group = std::exchange(writing_, {});
      for (const Item& item : group) Keep(item);
      events_.Note("durable", records_.size());
      for (const Item& item : group) {
        if (item.on_durable) item.on_durable();
      }
      WriteNext(process);
    });
  });
}

void SimDisk::OnDeath() {
  if (dice_.Happens(0.5)) {
    for (const Item& item : writing_) Keep(item);
  }
  writing_.clear();
  waiting_.clear();
  ++opened_;
}

}  // namespace headrace::simulation
