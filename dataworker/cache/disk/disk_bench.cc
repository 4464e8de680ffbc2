// The disk tier beside two stores that many use: what storing and reading decoded samples costs. All of
// them write to one directory, $TMPDIR, and their files
// stay in the page cache, so that the stores are compared and not the disk.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/disk/disk_cache.h"
#ifdef HEADRACE_HAS_LMDB
#include <lmdb.h>
#endif
#ifdef HEADRACE_HAS_ROCKSDB
#include <rocksdb/db.h>
#endif

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kEntries = 2000;
constexpr std::size_t kBytes = 150'528;  // 224 x 224 x 3
constexpr std::uint64_t kRoom = kEntries * (kBytes + 4096) * 2;

class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "disk_bench_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const Bytes& APayload() {
  static const Bytes payload = Payload(1, 0, kBytes);
  return payload;
}
std::uint64_t Next(std::uint64_t at) { return (at * 4801 + 7) % kEntries; }
// Whoever uses a sample reads all of it.
void Use(ByteSpan bytes) { benchmark::DoNotOptimize(HashBytes(bytes)); }

class Disk {
 public:
  Disk() {
    auto folder = SegmentFolder::Open(folder_.path(), MakerOfPayloads(), calls_);
    HR_CHECK(folder.ok());
    cache_ = MakeDiskCache({.budget = kRoom}, std::move(folder).value());
    cache_->AddJob(kJob, kNoQuota);
  }
  void Put(std::uint64_t key) {
    while (true) {  // until the buffer has room; a worker would not wait
      auto claim = cache_->TryClaim(kJob, Key(key), kBytes);
      if (claim && claim.Commit(APayload())) return;
      std::this_thread::yield();
    }
  }
  // Until everything is in the files: then no more is taken from a buffer.
  void Finish() {
    while (calls_.writes < kEntries) std::this_thread::yield();
  }
  void Get(std::uint64_t key) { Use(Ask(*cache_, kJob, Key(key)).bytes()); }
  // As a batch does whose samples are not in memory: nobody waits for one before the next is asked for.
  void GetAll(std::uint64_t& at, int count) {
    std::atomic<int> open = count;
    for (int i = 0; i < count; ++i) {
      cache_->Fetch(kJob, Key(at = Next(at)), [&open](const CachePin& pin) {
        Use(pin.bytes());
        if (--open == 0) open.notify_one();
      });
    }
    for (int left = open; left != 0; left = open) open.wait(left);
  }

 private:
  class Calls final : public DiskCalls {
   public:
    int Write(int fd, std::uint64_t offset, ByteSpan header, ByteSpan payload) override {
      const int error = DiskCalls::Write(fd, offset, header, payload);
      ++writes;
      return error;
    }
    std::atomic<std::uint64_t> writes = 0;
  };
  Folder folder_;
  Calls calls_;
  std::unique_ptr<CacheTier> cache_;
};

#ifdef HEADRACE_HAS_LMDB
class Lmdb {
 public:
  Lmdb() {
    HR_CHECK(mdb_env_create(&env_) == 0 && mdb_env_set_mapsize(env_, kRoom) == 0);
    HR_CHECK(mdb_env_open(env_, folder_.path().c_str(), MDB_NOSYNC | MDB_WRITEMAP, 0600) == 0);
    MDB_txn* transaction = nullptr;
    HR_CHECK(mdb_txn_begin(env_, nullptr, 0, &transaction) == 0);
    HR_CHECK(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &table_) == 0);
    HR_CHECK(mdb_txn_commit(transaction) == 0);
  }
  ~Lmdb() { mdb_env_close(env_); }
  void Put(std::uint64_t key) {
    MDB_txn* transaction = nullptr;
    HR_CHECK(mdb_txn_begin(env_, nullptr, 0, &transaction) == 0);
    MDB_val name{sizeof(key), &key}, value{kBytes, const_cast<std::byte*>(APayload().data())};
    HR_CHECK(mdb_put(transaction, table_, &name, &value, 0) == 0);
    HR_CHECK(mdb_txn_commit(transaction) == 0);
  }
  void Finish() {}
  void Get(std::uint64_t key) {
    MDB_txn* transaction = nullptr;
    HR_CHECK(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction) == 0);
    MDB_val name{sizeof(key), &key}, value{};
    HR_CHECK(mdb_get(transaction, table_, &name, &value) == 0);
    Use({static_cast<const std::byte*>(value.mv_data), value.mv_size});
    mdb_txn_abort(transaction);
  }

 private:
  Folder folder_;
  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
};
#endif

#ifdef HEADRACE_HAS_ROCKSDB
class Rocks {
 public:
  Rocks() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.enable_blob_files = true;  // large values beside the tree
    options.min_blob_size = 1024;
    options.compression = rocksdb::kNoCompression;
    rocksdb::DB* made = nullptr;
    HR_CHECK(rocksdb::DB::Open(options, folder_.path(), &made).ok());
    store_.reset(made);
  }
  void Put(std::uint64_t key) {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    const rocksdb::Slice value(reinterpret_cast<const char*>(APayload().data()), kBytes);
    HR_CHECK(store_->Put(options, NameOf(key), value).ok());
  }
  void Finish() { HR_CHECK(store_->Flush({}).ok()); }
  void Get(std::uint64_t key) {
    rocksdb::PinnableSlice value;
    HR_CHECK(store_->Get({}, store_->DefaultColumnFamily(), NameOf(key), &value).ok());
    Use(AsBytes(value.ToStringView()));
  }

 private:
  static rocksdb::Slice NameOf(const std::uint64_t& key) {
    return {reinterpret_cast<const char*>(&key), sizeof(key)};
  }
  Folder folder_;
  std::unique_ptr<rocksdb::DB> store_;
};
#endif

template <typename Store>
void BM_Store(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto store = std::make_unique<Store>();
    state.ResumeTiming();
    for (std::uint64_t key = 0; key < kEntries; ++key) store->Put(key);
    store->Finish();
    state.PauseTiming();
    store.reset();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kEntries * kBytes));
}

template <typename Store>
Store& Filled() {
  static Store store;
  static const bool filled = [] {
    for (std::uint64_t key = 0; key < kEntries; ++key) store.Put(key);
    store.Finish();
    return true;
  }();
  benchmark::DoNotOptimize(filled);
  return store;
}

template <typename Store>
void BM_Read(benchmark::State& state) {
  Store& store = Filled<Store>();
  std::uint64_t at = static_cast<std::uint64_t>(state.thread_index()) * 977;
  for (auto _ : state) store.Get(at = Next(at));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}

void BM_ReadBatch(benchmark::State& state) {
  Disk& disk = Filled<Disk>();
  std::uint64_t at = 1;
  for (auto _ : state) disk.GetAll(at, 64);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(64 * kBytes));
}

// A start with what an earlier process has left; argument: whether it ended in order.
void BM_Start(benchmark::State& state) {
  constexpr std::uint64_t kMany = 20'000;
  constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;
  const Folder directory;
  const auto open = [&] {
    auto folder = SegmentFolder::Open(directory.path(), MakerOfPayloads());
    HR_CHECK(folder.ok());
    return MakeDiskCache({.budget = kBudget, .most_buffered = kBudget}, std::move(folder).value());
  };
  {
    const auto cache = open();
    cache->AddJob(kJob, kNoQuota);
    for (std::uint64_t key = 0; key < kMany; ++key) HR_CHECK(Put(*cache, kJob, key, 4000));
  }
  for (auto _ : state) {
    if (state.range(0) == 0) {
      state.PauseTiming();
      for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
        if (entry.path().extension() == ".list") std::filesystem::remove(entry.path());
      }
      state.ResumeTiming();
    }
    auto cache = open();
    HR_CHECK(cache->Stats().entries == kMany);
    state.PauseTiming();
    cache.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kMany));
}

BENCHMARK(BM_Start)->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Store<Disk>)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_Read<Disk>)->Threads(1)->Threads(2)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_ReadBatch)->MeasureProcessCPUTime()->UseRealTime();
#ifdef HEADRACE_HAS_LMDB
BENCHMARK(BM_Store<Lmdb>)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_Read<Lmdb>)->Threads(1)->Threads(2)->MeasureProcessCPUTime()->UseRealTime();
#endif
#ifdef HEADRACE_HAS_ROCKSDB
BENCHMARK(BM_Store<Rocks>)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(BM_Read<Rocks>)->Threads(1)->Threads(2)->MeasureProcessCPUTime()->UseRealTime();
#endif

}  // namespace
}  // namespace headrace::dataworker

BENCHMARK_MAIN();
