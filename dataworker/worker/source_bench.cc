// Samples a second of a worker whose source takes 50 ms for each answer, with 2 compute threads:
// as they came when a thread waited for each read, and as they come now.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/worker/worker_fixture.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kTakes = std::chrono::milliseconds(50);
constexpr std::int64_t kObjects = 1000;
constexpr std::size_t kBatch = 32;

// A source whose reads hold their thread, as all did once.
class HoldingSource final : public Source {
 public:
  explicit HoldingSource(std::shared_ptr<const Bytes> content) : content_(std::move(content)) {}
  [[nodiscard]] std::int64_t rows() const override { return kObjects; }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return false; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask, std::int64_t, ScratchBuffer&) const override {
    std::this_thread::sleep_for(kTakes);
    RowAnswer answer;
    answer.sample.bytes = ByteSpan(*content_).first(content_->size() - ScratchBuffer::kSlack);
    answer.bytes_read = answer.sample.bytes.size();
    return answer;
  }
  void Fetch(Ask, std::span<const std::int64_t>, Sink) const override {}
  [[nodiscard]] const Column* column(std::int32_t) const override { return nullptr; }
  Status CopyColumn(std::int32_t, std::int64_t, MutableByteSpan) const override { return {}; }

 private:
  const std::shared_ptr<const Bytes> content_;
};

// Sources of a store that answers 50 ms later, from a thread of its own.
class SlowStore {
 public:
  explicit SlowStore(const std::string& png)
      : store_(std::make_shared<FakeStore>(
            std::vector<FakeStore::Object>(kObjects, {CopyBytes(AsBytes(png))}), 1)),
        thread_([this] {
          while (!over_) {
            if (store_->AnswerDue() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {
    store_->SetTimes({}, kTakes);
  }
  SlowStore(const SlowStore&) = delete;
  SlowStore& operator=(const SlowStore&) = delete;
  ~SlowStore() {
    over_ = true;
    thread_.join();
  }
  [[nodiscard]] const std::shared_ptr<FakeStore>& store() const { return store_; }

 private:
  std::atomic<bool> over_ = false;
  const std::shared_ptr<FakeStore> store_;
  std::thread thread_;
};

// Makes `batches`, 8 of them on their way at a time.
void Make(benchmark::State& state, const SourceRegistry& sources, WorkerOptions options,
          int batches) {
  options.threads = 2;
  TestWorker worker(options, Clock::Real(), BuiltinCacheTiers(), sources);
  TestClient client(worker);
  wire::Attach attach;
  attach.session = SessionId(1);
  attach.job = JobId(1);
  attach.plan.leaves = {{.source = "slow", .rows = kObjects, .table = {}, .arrays = {}}};
  Node decode, crop, tensor;
  decode.op = "decode";
  decode.args = {{"mode", std::string("RGB")}};
  crop.op = "random_crop";
  crop.args = {{"size", std::int64_t{64}}};
  tensor.op = "to_tensor";
  attach.plan.chain = {decode, crop, tensor};
  attach.plan.fields = {{FieldSpec::Kind::kChain, 0}};
  attach.plan.rng = RngMode::kSample;
  attach.plan.libraries = {"13.0.0", "2.13.0+cpu", "0.28.0", "AVX512"};
  attach.split.worker_nodes = 3;
  client.Attach(attach, {});
  int sent = 0;
  const auto send = [&] {
    wire::BatchRequest request;
    request.session = attach.session;
    request.iteration = IterationId(1);
    request.batch = BatchId(sent);
    request.attempt = static_cast<std::uint32_t>(++sent);
    for (std::size_t i = 0; i < kBatch; ++i) {
      request.keys.push_back((sent * 32 + static_cast<std::int64_t>(i)) % kObjects);
      request.seeds.push_back(i);
    }
    request.slot_bytes = std::uint64_t{1} << 30;
    client.Send(request);
  };
  for (auto _ : state) {
    for (int i = 0; i < std::min(batches, 8); ++i) send();
    for (int done = 0; done < batches; ++done) {
      const wire::BatchDone answer = client.Next<wire::BatchDone>();
      if (!answer.status.ok() || !answer.failures.empty()) {
        state.SkipWithError(answer.status.ToString().c_str());
        return;
      }
      if (sent < batches * static_cast<int>(state.iterations() + 1) && done + 8 < batches) send();
    }
  }
  state.counters["samples/s"] = benchmark::Counter(
      static_cast<double>(batches) * kBatch * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

void BM_AThreadWaitsForEachRead(benchmark::State& state) {
  const std::string png = TinyPng::Make(100, 100, 1);
  auto content = std::make_shared<Bytes>(CopyBytes(AsBytes(png)));
  content->resize(png.size() + ScratchBuffer::kSlack);
  SourceRegistry sources;
  sources.Add("slow", [&](const SourceLeaf&, const SourceRegistry::Environment&) {
    return Result<std::unique_ptr<Source>>(std::make_unique<HoldingSource>(content));
  });
  Make(state, sources, {}, 4);
}
BENCHMARK(BM_AThreadWaitsForEachRead)->Iterations(1)->UseRealTime();

// range(0): rows that may be asked for at the same time. range(1): bytes ahead, in KiB.
void BM_ReadsAhead(benchmark::State& state) {
  const SlowStore slow(TinyPng::Make(100, 100, 1));  // 30 kB each
  SourceRegistry sources;
  sources.Add("slow", [&](const SourceLeaf&, const SourceRegistry::Environment& environment) {
    return Result<std::unique_ptr<Source>>(slow.store()->Open(environment.read_header));
  });
  WorkerOptions options;
  options.source_requests = static_cast<std::int32_t>(state.range(0));
  options.source_ahead_bytes = static_cast<std::uint64_t>(state.range(1)) << 10;
  Make(state, sources, options, 64);
}
BENCHMARK(BM_ReadsAhead)
    ->ArgNames({"rows", "KiB"})
    ->Args({32, 256 << 10})
    ->Args({256, 256 << 10})
    ->Args({256, 1 << 10})
    ->Iterations(1)
    ->UseRealTime();

}  // namespace
}  // namespace headrace::dataworker

BENCHMARK_MAIN();
