// A trainer in C++ that takes its samples from Headrace: reads a folder of images, one subfolder
// for each class, for some epochs, as a training loop would.
//
//   cpp_trainer FOLDER [EPOCHS]
//
// HEADRACE_COORDINATOR names a running coordinator. Without it, a private one and a local worker
// are started from the program `headrace` (HEADRACE_BINARY, or from PATH) and end with this
// program.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "headrace/client.h"
#include "headrace/image_folder.h"

namespace {

constexpr std::int64_t kBatchSize = 64;
constexpr std::int64_t kPrefetch = 4;  // batches

std::string Environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

// What a real program would do with the batch, in small.
double MeanOf(const headrace::BatchField& images) {
  const auto* values = reinterpret_cast<const float*>(images.data.data());
  const std::size_t count = images.data.size() / sizeof(float);
  return std::accumulate(values, values + count, 0.0) / static_cast<double>(count);
}

// One epoch in random order. Returns how many samples came.
headrace::Result<std::int64_t> RunEpoch(headrace::Session& session, std::int64_t samples,
                                        std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));

  headrace::IterationOptions iteration;
  iteration.base_seed = seed;
  HR_RETURN_IF_ERROR(session.Begin(iteration));
  std::size_t submitted = 0;
  std::int64_t received = 0, missing = 0;
  double mean = 0;
  while (submitted < order.size() || session.outstanding() > 0) {
    while (submitted < order.size() && session.outstanding() < kPrefetch) {
      const std::size_t size = std::min<std::size_t>(kBatchSize, order.size() - submitted);
      HR_TRY(const std::int64_t number, session.Submit({order.data() + submitted, size}));
      static_cast<void>(number);
      submitted += size;
    }
    auto event = session.Next(std::chrono::seconds(1));
    if (event.status().code() == headrace::Code::kDeadlineExceeded) continue;
    if (!event.ok()) return event.status();
    if (!event->batch) continue;  // RngMode::kSample never asks for a sample
    const headrace::Batch& batch = *event->batch;
    // Files that no worker could decode. A program that can decode them itself would fill the rows.
    for (const headrace::MissingSample& sample : batch.missing) {
      std::fprintf(stderr, "sample %lld: %s\n", static_cast<long long>(sample.key),
                   sample.message.c_str());
      ++missing;
    }
    if (batch.fields.empty()) continue;
    mean += MeanOf(batch.fields[0]);
    received += batch.fields[0].shape[0];
  }
  std::printf("  %lld samples, %lld missing, sum of batch means %.6f\n",
              static_cast<long long>(received), static_cast<long long>(missing), mean);
  return received;
}

headrace::Status Run(const std::string& root, int epochs) {
  headrace::ClientOptions client_options;
  client_options.coordinator = Environment("HEADRACE_COORDINATOR", "");
  client_options.workers = client_options.coordinator.empty() ? 1 : 0;  // 0: all that there are
  client_options.binary = Environment("HEADRACE_BINARY", "headrace");
  client_options.job_name = "cpp_trainer";
  HR_TRY(const headrace::ImageFolder folder, headrace::OpenImageFolder(root, {}));
  std::printf("%s: %lld images of %zu classes\n", root.c_str(),
              static_cast<long long>(folder.samples), folder.classes.size());
  HR_TRY(const std::shared_ptr<headrace::Client> client, headrace::Client::Open(client_options));
  headrace::SessionOptions session_options;
  session_options.max_outstanding = kPrefetch;
  HR_TRY(const std::unique_ptr<headrace::Session> session,
         client->OpenSession(folder.plan, folder.blobs, session_options));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    HR_TRY(const std::int64_t samples,
           RunEpoch(*session, folder.samples, static_cast<std::uint64_t>(epoch)));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("epoch %d: %.0f samples/s\n", epoch,
                static_cast<double>(samples) / seconds.count());
  }
  const headrace::SessionStats stats = session->Stats();
  std::printf("waited %.2f s for data\n", static_cast<double>(stats.stall_ns) * 1e-9);
  return headrace::Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: cpp_trainer FOLDER [EPOCHS]\n");
    return 2;
  }
  const headrace::Status status = Run(argv[1], argc > 2 ? std::atoi(argv[2]) : 2);
  if (status.ok()) return 0;
  std::fprintf(stderr, "cpp_trainer: %s\n", status.ToString().c_str());
  return 1;
}
