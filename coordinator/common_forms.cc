#include "coordinator/common_forms.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "coordinator/cache_places.h"
#include "coordinator/dataset_view.h"
#include "coordinator/estimate/cache_form.h"

namespace headrace::coordinator {
namespace {

// Part of the samples that may be cached in other forms when the form changes without a gain.
constexpr double kFewCached = 0.1;

// A job and the session that stands for its data set.
struct Reader {
  const Job* job;
  const Session* session;
};

// The readers of one source.
struct Readers {
  std::vector<Reader> all;
  std::set<std::uint64_t> datasets;
  std::size_t common = 0;  // nodes of the longest common prefix
  std::int32_t held = 0;   // nodes of the form that some of them keep; 0: each its own

  void Add(const Reader& reader) {
    const std::vector<std::uint64_t>& own = reader.session->prefixes;
    const std::vector<std::uint64_t>& first = all.empty() ? own : all.front().session->prefixes;
    const std::size_t most = all.empty() ? own.size() : std::min(common, own.size());
    const auto end = own.begin() + static_cast<std::ptrdiff_t>(most);
    common = static_cast<std::size_t>(std::mismatch(own.begin(), end, first.begin()).first -
                                      own.begin());
    all.push_back(reader);
    datasets.insert(reader.session->dataset);
    for (const auto& [id, grant] : reader.job->grants) held = std::max(held, grant.cache_nodes);
  }
};

std::unordered_map<JobId, EntrySize> CachedOf(const State& state) {
  std::unordered_map<JobId, EntrySize> cached;
  for (const auto& [id, worker] : state.workers()) {
    for (const wire::JobUsage& usage : worker.last.usage) cached[usage.job].Add(usage);
  }
  return cached;
}

// Whether those that keep another form than `dataset` should give that up.
bool IsWorthIt(const Readers& readers, std::uint64_t dataset,
               const std::unordered_map<JobId, EntrySize>& cached) {
  double rows = 0, lost = 0, losers = 0, room = 0, guess = 0;
  std::map<std::uint64_t, EntrySize> own;  // by data set
  for (const Reader& reader : readers.all) {
    const double bytes = EntryGuess(reader.job->meter.measured().miss_bytes);
    guess = std::max(guess, bytes);
    EntrySize& size = own[reader.session->dataset];
    size.guess = std::max(size.guess, bytes);
    for (const auto& [id, grant] : reader.job->grants) {
      room += static_cast<double>(grant.cache_bytes);
    }
    rows = std::max(rows, static_cast<double>(reader.session->rows));
    const auto at = cached.find(reader.job->spec.job);
    const EntrySize held = at == cached.end() ? EntrySize{} : at->second;
    size.Add(held);
    if (reader.session->dataset == dataset) continue;
    lost += held.entries;
    losers += 1;
  }
  if (lost <= kFewCached * rows * losers) return true;
  double each = 0;
  for (const auto& [name, size] : own) each += size.bytes();
  // Both save the reading and decoding; what follows in the longer prefixes costs little beside that.
  const std::array<CacheForm, 2> forms = {CacheForm{"own", 1, each}, CacheForm{"common", 1, guess}};
  return ChooseForm(forms, 0, rows, room, {}) == 1;
}

}  // namespace

std::map<std::uint64_t, CommonForm> CommonForms(const State& state) {
  std::unordered_map<std::uint64_t, Readers> sources;
  for (const auto& [id, job] : state.jobs()) {
    if (job.phase != Job::Phase::kRunning) continue;
    const Job* const one = &job;
    const Session* session = CachedSession({&one, 1});
    if (session == nullptr || session->source == 0 || session->prefixes.empty()) continue;
    sources[session->source].Add({one, session});
  }
  std::map<std::uint64_t, CommonForm> forms;
  std::unordered_map<JobId, EntrySize> cached;
  for (const auto& [source, readers] : sources) {
    std::size_t nodes = readers.common;
    if (readers.held > 0) nodes = std::min(nodes, static_cast<std::size_t>(readers.held));
    if (nodes == 0 || (readers.datasets.size() == 1 && readers.held == 0)) continue;
    const std::vector<std::uint64_t>& prefixes = readers.all.front().session->prefixes;
    const CommonForm form{MixBits(source + prefixes[nodes - 1]), static_cast<std::int32_t>(nodes)};
    if (readers.held == 0) {
      if (cached.empty()) cached = CachedOf(state);
      if (!IsWorthIt(readers, form.dataset, cached)) continue;
    }
    for (const std::uint64_t dataset : readers.datasets) forms[dataset] = form;
  }
  return forms;
}

}  // namespace headrace::coordinator
