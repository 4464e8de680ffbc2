#include "trainer_client/session/comparisons.h"

#include <algorithm>
#include <utility>

#include "base/graph.h"
#include "schemas/wire/field_layout.h"

namespace headrace::client {
namespace {

bool SamePart(const Version& a, std::uint64_t offset_a, const Version& b, std::uint64_t offset_b,
              std::uint64_t bytes) {
  return std::ranges::equal(ByteSpan(a.memory).subspan(offset_a, bytes),
                            ByteSpan(b.memory).subspan(offset_b, bytes));
}

bool SameFields(const Version& a, const Version& b) {
  if (a.done.fields.size() != b.done.fields.size()) return false;
  for (std::size_t i = 0; i < a.done.fields.size(); ++i) {
    const wire::FieldLayout& x = a.done.fields[i];
    const wire::FieldLayout& y = b.done.fields[i];
    if (x.dtype != y.dtype || x.shape != y.shape || x.row_sizes != y.row_sizes) return false;
    if (!SamePart(a, x.offset, b, y.offset, wire::FieldBytes(x).value_or(0))) return false;
  }
  return true;
}

}  // namespace

bool SameBytes(const Version& a, const Version& b) {
  const wire::BatchDone& x = a.done;
  const wire::BatchDone& y = b.done;
  if (x.pickle != y.pickle || x.python_error != y.python_error || x.lane_state != y.lane_state ||
      x.samples != y.samples || x.lane_ended != y.lane_ended || x.failures != y.failures ||
      x.buffer_sizes != y.buffer_sizes) {
    return false;
  }
  for (std::size_t i = 0; i < x.buffer_sizes.size(); ++i) {
    if (!SamePart(a, x.buffer_offsets[i], b, y.buffer_offsets[i], x.buffer_sizes[i])) return false;
  }
  return SameFields(a, b);
}

void Comparisons::Gone(WorkerId worker) {
  trials_.Gone(worker);
  for (auto at = open_.begin(); at != open_.end();) {
    const bool of_it = at->second.tried == worker || at->second.maker == worker;
    at = of_it ? Lose(at) : std::next(at);
  }
}

std::vector<Comparisons::Ask> Comparisons::OnSent(WorkerId worker, std::int64_t ticket) {
  std::vector<Ask> asks;
  if (Wants(ticket)) return asks;  // asked again
  for (const Trials::Shadow& shadow : trials_.OnSent(worker, ticket)) {
    const std::uint32_t attempt = kShadow | (next_++ & (kShadow - 1));
    open_[attempt] = {.ticket = ticket, .tried = shadow.tried, .maker = shadow.maker};
    asks.push_back({.maker = shadow.maker, .attempt = attempt});
  }
  return asks;
}

bool Comparisons::Wants(std::int64_t ticket) const {
  return std::ranges::any_of(open_, [&](const auto& entry) {
    return entry.second.ticket == ticket && !entry.second.made;
  });
}

std::int64_t Comparisons::Undecided() const {
  return std::ranges::count_if(open_, [](const auto& entry) {
    return entry.second.made != nullptr && entry.second.maker != entry.second.tried;
  });
}

std::vector<Comparison> Comparisons::OnMade(WorkerId maker, std::int64_t ticket,
                                            std::shared_ptr<Version> version) {
  std::vector<Comparison> complete;
  for (auto at = open_.begin(); at != open_.end();) {
    Open& open = at->second;
    if (open.ticket != ticket || open.made) {
      ++at;
      continue;
    }
    const bool wanted = open.maker == open.tried
                            ? trials_.standing(maker) == Trials::Standing::kReference
                            : maker == open.tried;
    if (!wanted) {  // it went to another worker in the end
      at = Lose(at);
      continue;
    }
    open.made = version;
    if (!open.shadow) {
      ++at;
      continue;
    }
    complete.push_back(Complete(open));
    at = open_.erase(at);
  }
  return complete;
}

std::optional<Comparison> Comparisons::OnShadow(std::uint32_t attempt,
                                                std::shared_ptr<Version> version) {
  const auto at = open_.find(attempt);
  if (at == open_.end()) return std::nullopt;
  at->second.shadow = std::move(version);
  if (!at->second.made) return std::nullopt;
  Comparison complete = Complete(at->second);
  open_.erase(at);
  return complete;
}

Comparison Comparisons::Complete(const Open& open) {
  const bool trial = open.maker == open.tried;
  return {.ticket = open.ticket,
          .tried = open.tried,
          .here = trial ? open.made : open.shadow,
          .there = trial ? open.shadow : open.made};
}

Comparisons::Opened::iterator Comparisons::Lose(Opened::iterator at) {
  trials_.OnLost(at->second.tried);
  return open_.erase(at);
}

void Comparisons::LoseShadow(std::uint32_t attempt) {
  if (const auto at = open_.find(attempt); at != open_.end()) Lose(at);
}

void Comparisons::LoseBatch(std::int64_t ticket) {
  for (auto at = open_.begin(); at != open_.end();) {
    at = at->second.ticket == ticket && !at->second.made ? Lose(at) : std::next(at);
  }
}

void Comparisons::LoseBatchesBefore(std::int64_t ticket) {
  for (auto at = open_.begin(); at != open_.end();) {
    at = at->second.ticket < ticket && !at->second.made ? Lose(at) : std::next(at);
  }
}

}  // namespace headrace::client
