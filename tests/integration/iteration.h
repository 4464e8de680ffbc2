// One iteration of a session, and what its batches hold.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headrace/client.h"

namespace headrace::testing_support {

// A folder that goes with the object; short, for sockets are made in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Index batches over `samples` keys in a seeded order.
[[nodiscard]] std::vector<std::vector<std::int64_t>> IndexBatches(std::int64_t samples,
                                                                  std::int64_t batch_size,
                                                                  std::uint64_t seed);

// The content of a batch: its number, missing rows and every field's bytes.
[[nodiscard]] std::uint64_t Fingerprint(const Batch& batch);

// Runs one iteration; calls `at` with each batch. Fails the test on any error. Returns
// fingerprints.
std::vector<std::uint64_t> RunIteration(Session& session,
                                        const std::vector<std::vector<std::int64_t>>& batches,
                                        const IterationOptions& options,
                                        const std::function<void(const Batch&)>& at = {});

}  // namespace headrace::testing_support
