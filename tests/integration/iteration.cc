#include "tests/integration/iteration.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>

#include "base/check.h"
#include "base/hash.h"

namespace headrace::testing_support {

TemporaryFolder::TemporaryFolder() : path_("/tmp/hr-test-XXXXXX") {
  HR_CHECK(::mkdtemp(path_.data()) != nullptr);
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::vector<std::int64_t>> IndexBatches(std::int64_t samples, std::int64_t batch_size,
                                                    std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  std::vector<std::vector<std::int64_t>> batches;
  for (std::size_t i = 0; i < order.size(); i += static_cast<std::size_t>(batch_size)) {
    const std::size_t end = std::min(order.size(), i + static_cast<std::size_t>(batch_size));
    batches.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(i),
                         order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return batches;
}

std::uint64_t Fingerprint(const Batch& batch) {
  std::uint64_t hash = static_cast<std::uint64_t>(batch.batch) + 1;
  for (const MissingSample& missing : batch.missing) {
    hash = HashBytes(missing.torch_state, hash + static_cast<std::uint64_t>(missing.position));
  }
  for (const BatchField& field : batch.fields) {
    const std::size_t rows = static_cast<std::size_t>(field.shape[0]);
    const std::size_t row_bytes = field.data.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
      const bool undefined = std::ranges::any_of(batch.missing, [&](const MissingSample& missing) {
        return static_cast<std::size_t>(missing.position) == row;
      });
      if (!undefined) hash = HashBytes(field.data.subspan(row * row_bytes, row_bytes), hash);
    }
  }
  return hash;
}

std::vector<std::uint64_t> RunIteration(Session& session,
                                        const std::vector<std::vector<std::int64_t>>& batches,
                                        const IterationOptions& options,
                                        const std::function<void(const Batch&)>& at) {
  std::vector<std::uint64_t> fingerprints;
  Status status = session.Begin(options);
  HR_CHECK(status.ok());
  constexpr std::int64_t kWindow = 4;
  auto next = static_cast<std::size_t>(options.first_batch);
  const std::size_t first = next;
  while (fingerprints.size() < batches.size() - first) {
    while (next < batches.size() && session.outstanding() < kWindow) {
      const auto number = session.Submit(batches[next]);
      HR_CHECK(number.ok() && *number == static_cast<std::int64_t>(next));
      ++next;
    }
    const auto event = session.Next(std::chrono::seconds(30));
    if (!event.ok()) std::fprintf(stderr, "Next: %s\n", event.status().ToString().c_str());
    HR_CHECK(event.ok() && event->batch.has_value());
    HR_CHECK(event->batch->batch == static_cast<std::int64_t>(first + fingerprints.size()));
    fingerprints.push_back(Fingerprint(*event->batch));
    if (at) at(*event->batch);
  }
  return fingerprints;
}

}  // namespace headrace::testing_support
