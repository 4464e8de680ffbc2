#include "dataworker/work_queue.h"

#include <utility>
#include <vector>

namespace headrace::dataworker {

void WorkQueue::Push(SessionId session, std::shared_ptr<Work> work, Place place) {
  const std::int64_t units = work->units();
  {
    const std::lock_guard lock(mutex_);
    std::deque<Item>& items = sessions_[session];
    if (items.empty()) turns_.push_back(session);
    if (place == Place::kBack) {
      items.push_back({std::move(work)});
    } else {
      items.push_front({std::move(work)});
    }
    queued_ += units;
  }
  // One turn for each unit; turns left over after a Cancel find nothing to do.
  for (std::int64_t i = 0; i < units; ++i) {
    executor_.Submit([this](ThreadContext& context) { RunOne(context); });
  }
}

void WorkQueue::RunOne(ThreadContext& context) {
  std::shared_ptr<Work> work;
  std::int64_t unit = 0;
  {
    const std::lock_guard lock(mutex_);
    if (turns_.empty()) return;
    const SessionId session = turns_.front();
    turns_.pop_front();
    const auto items = sessions_.find(session);
    Item& item = items->second.front();
    work = item.work;
    unit = item.next++;
    if (item.next == work->units()) items->second.pop_front();
    if (items->second.empty()) {
      sessions_.erase(items);
    } else {
      turns_.push_back(session);
    }
    --queued_;
  }
  work->RunUnit(unit, context);
}

void WorkQueue::Cancel(SessionId session, const std::function<bool(const Work&)>& which) {
  std::vector<Item> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto items = sessions_.find(session);
    if (items == sessions_.end()) return;
    std::deque<Item> kept;
    for (Item& item : items->second) {
      if (which(*item.work)) {
        item.work->Cancel();
        queued_ -= item.work->units() - item.next;
        dropped.push_back(std::move(item));
      } else {
        kept.push_back(std::move(item));
      }
    }
    if (kept.empty()) {
      sessions_.erase(items);
      std::erase(turns_, session);
    } else {
      items->second = std::move(kept);
    }
  }
  for (const Item& item : dropped) item.work->Drop(item.work->units() - item.next);
}

}  // namespace headrace::dataworker
