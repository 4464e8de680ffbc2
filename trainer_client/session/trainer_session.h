#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/reactor.h"
#include "trainer_client/client/job_link.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/session_pump.h"

namespace headrace::client {

// The state that a client and its sessions share: the reactor, and whether it still runs in this
// process.
struct Runtime {
  std::shared_ptr<net::Reactor> reactor;
  std::int64_t pid = 0;
  std::atomic<bool> stopped{false};  // set once the reactor's thread has ended

  [[nodiscard]] Status Check() const;
  // Called when a trainer has waited in vain: the client looks after its private servers.
  void Starves();
  void SetOnStarving(std::function<void()> on_starving);

 private:
  std::mutex mutex_;
  std::function<void()> on_starving_;
};

// Runs `task` on the reactor and waits for its result; nullopt when the reactor has ended first.
// `task` gets a function that it calls once with the result, now or later. On the reactor's own thread
// nobody can be waited for: what is not answered at once is not answered.
template <typename T, typename Task>
std::optional<T> Call(const Runtime& runtime, std::optional<std::chrono::milliseconds> timeout,
                      Task task) {
  struct Answer {
    std::mutex mutex;
    std::condition_variable set;
    std::optional<T> value;
  };
  const auto answer = std::make_shared<Answer>();
  const auto reply = [answer](T value) {
    {
      const std::scoped_lock lock(answer->mutex);
      answer->value.emplace(std::move(value));
    }
    answer->set.notify_one();
  };
  if (runtime.reactor->OnThread()) {
    task(reply);
    return std::move(answer->value);
  }
  runtime.reactor->Post([task = std::move(task), reply] { task(reply); });
  std::unique_lock lock(answer->mutex);
  constexpr std::chrono::milliseconds kSlice{100};
  for (auto left = timeout.value_or(kSlice); !answer->value && left.count() > 0;) {
    answer->set.wait_for(lock, std::min(left, kSlice));
    if (runtime.stopped) break;
    if (timeout) left -= kSlice;
  }
  return std::move(answer->value);
}

}  // namespace headrace::client

namespace headrace {

// The trainer's side of a session; see client.h.
// Methods: those of Session.
class TrainerSession {
 public:
  TrainerSession(std::shared_ptr<client::Runtime> runtime, std::shared_ptr<client::JobLink> client,
                 std::shared_ptr<client::SessionPump> core,
                 std::shared_ptr<client::BatchMailbox> shared, std::shared_ptr<client::Arena> arena,
                 SessionId id, const SessionOptions& options, wire::Split split)
      : runtime_(std::move(runtime)),
        client_(std::move(client)),
        core_(std::move(core)),
        shared_(std::move(shared)),
        arena_(std::move(arena)),
        id_(id),
        options_(options),
        split_(std::move(split)) {}
  ~TrainerSession();

  Status Begin(const IterationOptions& options);
  void End();
  Status Skip(std::span<const std::int64_t> keys);
  Status SetLanes(std::span<const LaneProcess> lanes);
  Result<std::int64_t> Submit(std::span<const std::int64_t> keys, std::int32_t lane,
                              ByteSpan index);
  Result<Event> Next(std::chrono::milliseconds timeout);
  Result<Withdrawal> Judge(std::uint64_t suspicion, bool equal);
  void LearnNames(ByteSpan pickle);
  std::int64_t Undecided();
  Result<std::int64_t> MakeAgain(std::span<const std::int32_t> lanes);
  Status AwaitServed(std::chrono::milliseconds timeout);
  Status ResolveSample(std::int64_t batch, std::int32_t position, ByteSpan state_after,
                       bool failed);
  Status ReplanLane(std::int64_t batch, ByteSpan state_after);
  [[nodiscard]] Result<std::vector<std::uint64_t>> LaneDraws() const;
  [[nodiscard]] Result<std::vector<Bytes>> LaneStates(bool end) const;
  [[nodiscard]] std::int64_t outstanding() const { return outstanding_; }
  [[nodiscard]] SessionStats Stats() const;
  [[nodiscard]] const wire::Split& split() const { return split_; }
  void EnterNext();
  void LeaveNext();
  void EnterSampler();
  void LeaveSampler();
  void AddIdle(Duration idle);
  void Expect(std::int64_t samples);
  Status ReportBadSample(const BadSampleReport& report);
  void AddComparison(bool equal);
  void Interrupt();
  int BeforeFork();
  // True in a child of the process that opened the session.
  [[nodiscard]] bool forked() const;

 private:
  // Batches that the trainer may keep before it is told to copy.
  static constexpr std::int64_t kSpareSlots = 3;

  template <typename Task>
  Status CallStatus(Task task) const;

  std::shared_ptr<client::Runtime> runtime_;
  std::shared_ptr<client::JobLink> client_;
  std::shared_ptr<client::SessionPump> core_;
  std::shared_ptr<client::BatchMailbox> shared_;
  std::shared_ptr<client::Arena> arena_;
  SessionId id_;
  SessionOptions options_;
  wire::Split split_;
  std::int64_t next_batch_ = 0;
  std::int64_t outstanding_ = 0;
  bool begun_ = false;
};

}  // namespace headrace
