#include "coordinator/dataset_orders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "base/plain_text.h"
#include "coordinator/dataset_jobs.h"
#include "coordinator/dataset_view.h"

namespace headrace::coordinator {
namespace {

std::string Gigabytes(double bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g GB", bytes / 1e9);
  return text.data();
}

// Makes the answer to one order.
class Order {
 public:
  Order(const PlanRules& rules, const State& state, const wire::DatasetOrder& order,
        std::int64_t wall_ms)
      : rules_(rules),
        state_(state),
        order_(order),
        wall_ms_(wall_ms),
        views_(ViewDatasets(state)) {
    out_.reply.request = order.request;
  }

  OrderOutcome Take() && {
    Result<std::uint64_t> found = Find();
    if (found.ok()) {
      out_.reply.dataset = *found;
      out_.reply.name = NameOf(*found);
      out_.reply.status = Act(*found);
    } else {
      out_.reply.status = found.status();
    }
    if (!out_.reply.status.ok()) out_.updates.clear();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const DatasetView* View(std::uint64_t dataset) const {
    return FindView(views_, dataset);
  }
  // It, and those whose samples are kept in one form with its: their entries are the same, so an order is
  // about all of them.
  [[nodiscard]] std::set<std::uint64_t> Together(std::uint64_t dataset) const {
    const DatasetView* view = View(dataset);
    return view != nullptr ? view->of_sessions : std::set{dataset};
  }
  [[nodiscard]] bool IsPinned(std::uint64_t dataset) const {
    return std::ranges::any_of(Together(dataset),
                               [this](std::uint64_t each) { return Known(each).pinned; });
  }
  // A default one, if it is forgotten: then there were very many.
  [[nodiscard]] const KnownDataset& Known(std::uint64_t dataset) const {
    static const KnownDataset forgotten;
    const KnownDataset* known = state_.datasets().Find(dataset);
    return known != nullptr ? *known : forgotten;
  }
  [[nodiscard]] std::string NameOf(std::uint64_t dataset) const {
    const DatasetView* view = View(dataset);
    return view != nullptr ? view->session->plan_name : Known(dataset).name;
  }

  [[nodiscard]] Result<std::uint64_t> Find() const {
    std::vector<std::uint64_t> named;
    for (const auto& [dataset, known] : state_.datasets().all()) {
      if (DatasetNumber(dataset) == order_.name) return dataset;
      if (NameOf(dataset) != order_.name) continue;
      // Others are no jobs' largest, and have no entries of their own.
      if (!known.pinned && JobsOf(state_, dataset).empty()) continue;
      if (known.leaves && !known.pinned && !IsRead(dataset) && Cached(dataset) <= 0) continue;
      const auto together = Together(dataset);
      if (std::ranges::none_of(named, [&](auto each) { return together.contains(each); })) {
        named.push_back(dataset);
      }
    }
    const std::string name = PlainText(order_.name, kMostNameBytes);
    if (named.empty()) {
      return NotFound("no data set " + name + " here; `headrace datasets` lists those there are");
    }
    if (named.size() == 1) return named.front();
    std::string numbers;
    for (const std::uint64_t each : named) {
      numbers += (numbers.empty() ? "" : ", ") + DatasetNumber(each);
    }
    return InvalidArgument(
        std::to_string(named.size()) + " data sets are called " + name +
        ", with other steps before the cache or of other programs; say which: " + numbers);
  }

  Status Act(std::uint64_t dataset) {
    switch (order_.action) {
      case wire::DatasetAction::kWarm:
        return Warm(dataset);
      case wire::DatasetAction::kPin:
        return Pin(dataset);
      case wire::DatasetAction::kUnpin:
        out_.reply.text = IsPinned(dataset) ? "is not pinned any more" : "was not pinned";
        for (const std::uint64_t each : Together(dataset)) {
          if (Known(each).pinned) out_.updates.emplace_back(UnpinDataset{each});
        }
        return Status::Ok();
      case wire::DatasetAction::kDrop:
        return Drop(dataset);
      case wire::DatasetAction::kUnknown:
        break;
    }
    return InvalidArgument("an order that this coordinator does not know; use its release");
  }

  // Whether a running job reads it.
  [[nodiscard]] bool IsRead(std::uint64_t dataset) const {
    const auto reads = [&](const auto& each) { return DatasetOf(state_, each.second) == dataset; };
    return View(dataset) != nullptr ||
           (Known(dataset).leaves && std::ranges::any_of(state_.jobs(), reads));
  }

  // Bytes of it in caches, also of jobs that have ended.
  [[nodiscard]] double Cached(std::uint64_t dataset) const {
    const std::set<std::uint64_t> together = Together(dataset);
    double bytes = 0;
    for (const auto& [id, worker] : state_.workers()) {
      for (const wire::JobUsage& usage : worker.last.usage) {
        if (together.contains(DatasetOf(state_, usage.job)))
          bytes += static_cast<double>(usage.cache_bytes);
      }
    }
    return bytes;
  }

  Status Warm(std::uint64_t dataset) {
    const DatasetView* view = View(dataset);
    if (Known(dataset).leaves) {
      return Unavailable(
          "the program's own Python code reads its files, so workers do not know which: each epoch "
          "of the program fills it. " +
          Gigabytes(Cached(dataset)) + " of it are cached");
    }
    if (view == nullptr) {
      return Unavailable(
          "no job reads it now, and workers get its list of samples and how to make them from a "
          "job; `headrace run --warm` is one. " +
          Gigabytes(Cached(dataset)) + " of it are cached");
    }
    if (view->quota <= 0) {
      return ResourceExhausted(
          "it has no quota of the cache: no room is left for it, or its program or tenant may have "
          "none");
    }
    const double useful = std::min(view->quota, UsefulBytes(view->bytes, view->places.hosts()));
    out_.reply.text = "is filled while its workers are idle: " + Gigabytes(view->size.room) +
                      " of " + Gigabytes(useful) + " are there";
    for (const std::uint64_t each : Together(dataset)) {
      out_.updates.emplace_back(WarmDataset{each});
    }
    return Status::Ok();
  }

  // What the pin of a data set may take.
  [[nodiscard]] double PinBytes(std::uint64_t dataset, std::uint64_t asked) const {
    if (asked > 0) return static_cast<double>(asked);
    const DatasetView* view = View(dataset);
    double bytes = view != nullptr ? view->bytes : 0;
    if (Known(dataset).leaves) {
      for (const auto& [id, job] : state_.jobs()) {
        if (DatasetOf(state_, job) != dataset) continue;
        bytes = std::max(bytes, job.meter.leaves().bytes().value_or(0));  // runs find each other's
      }
    }
    return std::max(bytes, Cached(dataset));
  }

  [[nodiscard]] const Tenant* TenantNamed(const std::string& name) const {
    const auto at = std::ranges::find(rules_.tenants, name, &Tenant::name);
    if (at != rules_.tenants.end()) return &*at;
    const auto other = std::ranges::find(rules_.tenants, "default", &Tenant::name);
    return other == rules_.tenants.end() ? nullptr : &*other;
  }

  Status Pin(std::uint64_t dataset) {
    const double wanted = PinBytes(dataset, order_.bytes);
    if (wanted <= 0) {
      return InvalidArgument(IsRead(dataset)
                                 ? "nothing of it is cached yet: say how much (--size)"
                                 : "nothing of it is cached and no job reads it: say how much "
                                   "(--size)");
    }
    const std::set<std::uint64_t> together = Together(dataset);
    const auto more = static_cast<std::size_t>(
        std::ranges::count_if(together, [this](auto each) { return !Known(each).pinned; }));
    if (more > 0 && state_.datasets().pinned() + more > KnownDatasets::kMostPinned) {
      return ResourceExhausted(std::to_string(KnownDatasets::kMostPinned) +
                               " data sets are pinned; unpin one");
    }
    const Tenant* tenant = TenantNamed(Known(dataset).tenant);
    double all = wanted, own = wanted, room = 0;
    std::set<std::uint64_t> counted = together;
    for (const auto& [other, known] : state_.datasets().all()) {
      if (!known.pinned || counted.contains(other)) continue;
      counted.merge(Together(other));
      const double bytes = PinBytes(other, known.pinned_bytes);
      all += bytes;
      if (TenantNamed(known.tenant) == tenant) own += bytes;
    }
    for (const auto& [id, worker] : state_.workers()) {
      if (worker.leasable()) room += static_cast<double>(worker.info.cache_bytes);
    }
    if (tenant != nullptr && own > tenant->quota.cache_bytes) {
      return ResourceExhausted("tenant " + tenant->name + " would have " + Gigabytes(own) +
                               " pinned, and may cache " + Gigabytes(tenant->quota.cache_bytes) +
                               "; pin less (--size)");
    }
    if (all > room) {
      return ResourceExhausted(Gigabytes(all) + " would be pinned, and the workers' caches have " +
                               Gigabytes(room) + "; pin less (--size)");
    }
    out_.reply.text = order_.bytes > 0 ? "is pinned, " + Gigabytes(wanted) + " of it at most"
                                       : "is pinned, " + Gigabytes(wanted) + " as it is now";
    for (const std::uint64_t each : together) {
      if (state_.datasets().Find(each) != nullptr) {
        out_.updates.emplace_back(PinDataset{each, order_.bytes});
      }
    }
    return Status::Ok();
  }

  Status Drop(std::uint64_t dataset) {
    if (IsPinned(dataset)) return InvalidArgument("it is pinned; unpin it first");
    DropDataset drop{dataset, state_.datasets().NextDrop(wall_ms_), {}, {}};
    for (const std::uint64_t each : Together(dataset)) {
      const std::vector<JobId> jobs = JobsOf(state_, each);
      drop.jobs.insert(drop.jobs.end(), jobs.begin(), jobs.end());
    }
    std::ranges::sort(drop.jobs);
    for (const auto& [id, worker] : state_.workers()) drop.workers.push_back(id);
    out_.reply.workers = static_cast<std::uint32_t>(drop.workers.size());
    out_.reply.text = std::to_string(drop.workers.size()) + " workers give up " +
                      Gigabytes(Cached(dataset)) + " of it";
    if (IsRead(dataset)) out_.reply.text += "; jobs that read it fill it again";
    out_.updates.emplace_back(std::move(drop));
    return Status::Ok();
  }

  const PlanRules& rules_;
  const State& state_;
  const wire::DatasetOrder& order_;
  const std::int64_t wall_ms_;
  const std::map<std::uint64_t, DatasetView> views_;
  OrderOutcome out_;
};

}  // namespace

std::string DatasetNumber(std::uint64_t dataset) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(dataset));
  return text.data();
}

OrderOutcome TakeOrder(const PlanRules& rules, const State& state, const wire::DatasetOrder& order,
                       std::int64_t wall_ms) {
  return Order(rules, state, order, wall_ms).Take();
}

}  // namespace headrace::coordinator
