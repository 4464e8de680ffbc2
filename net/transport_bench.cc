#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "benchmark/benchmark.h"
#include "net/intake.h"
#include "net/intake_gate.h"
#include "net/keyring.h"
#include "net/payload.h"
#include "net/reactor.h"

// The cost of bringing a batch from a worker to a trainer: ZeroMQ over TCP and ipc into a slot, and
// the same bytes written straight into shared memory. For comparison, plain sockets and memcpy.
namespace headrace::net {
namespace {

constexpr std::ptrdiff_t kWindow = 3;  // batches requested ahead

std::vector<PayloadFrame> Cut(ByteSpan bytes, std::size_t frame_bytes,
                              const std::shared_ptr<const void>& owner) {
  std::vector<PayloadFrame> frames;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), frame_bytes);
    frames.push_back({.data = bytes.first(size), .owner = owner});
    bytes = bytes.subspan(size);
  }
  return frames;
}

// malloc costs page faults here; unlike times, these do not depend on a quiet machine.
std::int64_t PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Args: batch bytes, frame bytes. `counted`: the worker counts what comes, as the programs do that serve
// (intake_gate.h). Both sides are in this process, so what the trainer receives is looked at, too.
void Transport(benchmark::State& state, const std::string& endpoint, const std::string& keys = "",
               bool counted = true) {
  if (counted) OpenIntakeGate();
  const auto batch_bytes = static_cast<std::size_t>(state.range(0));
  const auto frame_bytes = static_cast<std::size_t>(state.range(1));
  auto worker = std::move(MakeKeyedReactor("worker", keys, {wire::Role::kWorker})).value();
  auto trainer = std::move(MakeKeyedReactor("trainer", keys, {wire::Role::kTrainer})).value();
  const auto batch = std::make_shared<Bytes>(batch_bytes, std::byte{7});
  std::unique_ptr<Socket> router;
  auto made = worker->BindRouter(endpoint, {.on_message = [&](Incoming&& request) {
                                   wire::BatchDone done{.used_bytes = batch_bytes};
                                   const Status sent = router->Send(
                                       request.peer, done, Cut(*batch, frame_bytes, batch));
                                   if (!sent.ok()) std::abort();
                                 }});
  router = std::move(made).value();
  Bytes slot(batch_bytes);
  std::counting_semaphore<> arrived(0);
  auto dealer = std::move(trainer->ConnectDealer(router->endpoint(),
                                                 {.on_message =
                                                      [&](Incoming&& done) {
                                                        std::byte* to = slot.data();
                                                        for (const ByteSpan part : done.payload) {
                                                          std::memcpy(to, part.data(), part.size());
                                                          to += part.size();
                                                        }
                                                        arrived.release();
                                                      },
                                                  .server = wire::Role::kWorker}))
                    .value();
  if (!worker->Start().ok() || !trainer->Start().ok()) std::abort();
  auto ask = [&] {
    trainer->Post([&] {
      if (!dealer->Send("", wire::BatchRequest{}).ok()) std::abort();
    });
  };
  for (std::ptrdiff_t i = 0; i < kWindow; ++i) ask();
  for (int i = 0; i < 30; ++i) {  // malloc adapts to the size
    arrived.acquire();
    ask();
  }
  const std::int64_t faults = PageFaults();
  for (auto _ : state) {
    arrived.acquire();
    ask();
  }
  state.counters["faults/batch"] = benchmark::Counter(static_cast<double>(PageFaults() - faults),
                                                      benchmark::Counter::kAvgIterations);
  for (std::ptrdiff_t i = 0; i < kWindow; ++i) arrived.acquire();
  state.SetBytesProcessed(state.iterations() * state.range(0));
  trainer->Stop();
  worker->Stop();
  Intake::Process().Close();
}

void Tcp(benchmark::State& state) { Transport(state, "tcp://127.0.0.1:0"); }
void TcpUncounted(benchmark::State& state) {
  Transport(state, "tcp://127.0.0.1:0", "", /*counted=*/false);
}
void TcpWithKeys(benchmark::State& state) {
  std::string directory = "/tmp/headrace_bench_XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr || !WriteKeys(directory).ok()) std::abort();
  Transport(state, "tcp://127.0.0.1:0", directory);
  std::filesystem::remove_all(directory);
}
void Ipc(benchmark::State& state) {
  Transport(state, "ipc:///tmp/headrace_bench_" + std::to_string(getpid()));
}

void Sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t batch : {9'633'792, 38'535'168}) {  // 64 x 3 x 224 x 224, u8 and f32
    for (const std::int64_t frame :
         {std::int64_t{64} << 10, std::int64_t{kPayloadFrameBytes}, std::int64_t{64} << 20}) {
      bench->Args({batch, frame});
    }
  }
  bench->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(Tcp)->Apply(Sizes);
BENCHMARK(TcpUncounted)->Apply(Sizes);
BENCHMARK(TcpWithKeys)->Apply(Sizes);
BENCHMARK(Ipc)->Apply(Sizes);

bool ReadAll(int fd, std::byte* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::recv(fd, to, bytes, 0);
    if (n <= 0) return false;
    to += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool WriteAll(int fd, ByteSpan from) {
  while (!from.empty()) {
    const ssize_t n = ::send(fd, from.data(), from.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    from = from.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

// Makes two connected TCP sockets on the loopback device.
std::pair<UniqueFd, UniqueFd> TcpPair() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &size) != 0 || ::connect(client.get(), any, size) != 0) {
    std::abort();
  }
  return {std::move(client), UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

// The least cost of TCP: one thread sends what is asked for, another receives into the slot.
void PlainTcp(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto [trainer, worker] = TcpPair();
  std::thread sender([&, fd = worker.get()] {
    const Bytes batch(bytes, std::byte{7});
    std::byte ask{};
    while (ReadAll(fd, &ask, 1) && WriteAll(fd, batch)) {
    }
  });
  Bytes slot(bytes);
  const std::byte ask{1};
  for (std::ptrdiff_t i = 0; i < kWindow; ++i) (void)WriteAll(trainer.get(), {&ask, 1});
  for (auto _ : state) {
    if (!ReadAll(trainer.get(), slot.data(), bytes) || !WriteAll(trainer.get(), {&ask, 1})) {
      std::abort();
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  ::shutdown(trainer.get(), SHUT_RDWR);
  sender.join();
}
BENCHMARK(PlainTcp)
    ->Arg(9'633'792)
    ->Arg(38'535'168)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

// On one host, the worker writes where the trainer reads. Both mappings are of one memfd.
void SharedMemory(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const UniqueFd fd(memfd_create("bench", MFD_CLOEXEC));
  if (ftruncate(fd.get(), state.range(0)) != 0) std::abort();
  auto map = [&] {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  };
  void* const worker = map();
  void* const trainer = map();
  const Bytes batch(bytes, std::byte{7});
  for (auto _ : state) {
    std::memcpy(worker, batch.data(), bytes);
    benchmark::DoNotOptimize(static_cast<const std::byte*>(trainer)[bytes - 1]);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  munmap(worker, bytes);
  munmap(trainer, bytes);
}
BENCHMARK(SharedMemory)->Arg(9'633'792)->Arg(38'535'168)->Unit(benchmark::kMillisecond);

void Memcpy(benchmark::State& state) {
  const Bytes from(static_cast<std::size_t>(state.range(0)), std::byte{7});
  Bytes to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Memcpy)->Arg(9'633'792)->Arg(38'535'168)->Unit(benchmark::kMillisecond);

// The cost, in any design, of a message from another thread or process. One thread wakes a second
// through a descriptor, which wakes the first. CPU of both for each wake-up.
void WakeUp(benchmark::State& state) {
  const UniqueFd ping(::eventfd(0, EFD_CLOEXEC)), pong(::eventfd(0, EFD_CLOEXEC));
  constexpr std::uint64_t kStop = 1'000'000;
  std::thread other([&] {
    for (eventfd_t told = 0; told < kStop;) {
      if (::eventfd_read(ping.get(), &told) != 0 || ::eventfd_write(pong.get(), 1) != 0) return;
    }
  });
  eventfd_t answer = 0;
  for (auto _ : state) {
    if (::eventfd_write(ping.get(), 1) != 0 || ::eventfd_read(pong.get(), &answer) != 0) {
      std::abort();
    }
  }
  (void)::eventfd_write(ping.get(), kStop);
  other.join();
  state.counters["cpu_us_a_wake_up"] = benchmark::Counter(
      2e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(WakeUp)->MeasureProcessCPUTime();

}  // namespace
}  // namespace headrace::net

BENCHMARK_MAIN();
