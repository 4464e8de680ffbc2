#include "tests/simulation/sim_lane.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "base/check.h"
#include "base/hash.h"
#include "base/version.h"
#include "dataworker/stage/frame_socket.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::simulation {
namespace {

using dataworker::StageMessage;

// As headrace/stage/wire.py.
constexpr std::uint64_t kMade = 0, kTooSmall = 2, kPassed = 4, kEarly = 5;
constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kMostPassed = 4;

std::uint64_t NumberAt(ByteSpan bytes, std::size_t index) {
  std::uint64_t number = 0;
  HR_CHECK((index + 1) * sizeof(number) <= bytes.size());
  std::memcpy(&number, bytes.data() + index * sizeof(number), sizeof(number));
  return number;
}

// Reads what is there, with its descriptors. 0: the peer has hung up; -1: there is nothing now.
ssize_t ReceiveSome(int fd, std::span<std::byte> into, std::deque<UniqueFd>& passed) {
  iovec vector{.iov_base = into.data(), .iov_len = into.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMostPassed)> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return errno == EAGAIN ? -1 : 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int each = -1;
      std::memcpy(&each, CMSG_DATA(header) + at, sizeof(each));
      passed.emplace_back(each);
    }
  }
  return size;
}

}  // namespace

std::vector<std::uint64_t> StageRows(std::uint64_t base_seed, std::int32_t lane, std::int64_t nth,
                                     const std::vector<std::int64_t>& keys) {
  std::vector<std::uint64_t> rows;
  for (const std::int64_t key : keys) {
    rows.push_back(MixBits(base_seed * 1'000'003 + static_cast<std::uint64_t>(lane) * 1009 +
                           static_cast<std::uint64_t>(nth) * 131 + static_cast<std::uint64_t>(key) +
                           rows.size()));
  }
  return rows;
}

std::uint64_t StageBytes(const std::vector<std::int64_t>& keys) {
  return keys.size() * sizeof(std::uint64_t) + (keys.at(0) % 8 == 0 ? 4096 : 0);
}

// The arena, as a process that was passed its descriptors has it.
class SimLane::Mapping {
 public:
  Mapping() = default;
  ~Mapping() { Reset(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void Map(UniqueFd memory, UniqueFd channel) {
    Reset();
    struct stat file {};
    HR_CHECK(::fstat(memory.get(), &file) == 0);
    size_ = static_cast<std::size_t>(file.st_size);
    data_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    HR_CHECK(data_ != MAP_FAILED);
    channel_ = std::move(channel);
  }
  void Reset() {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
    channel_.reset();
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(data_), size_};
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  UniqueFd channel_;  // while it is held, the trainer knows that somebody may write
};

struct SimLane::Worker {
  std::uint64_t number = 0;
  UniqueFd socket;
  Bytes incoming;
  std::deque<UniqueFd> passed;
  Mapping arena;
};

struct SimLane::Asked {
  std::shared_ptr<Worker> worker;
  Bytes number;
  Name name;
  Name after;  // -1: none
  std::uint64_t base_seed = 0;
  std::uint64_t slot_offset = 0, slot_bytes = 0;
  std::vector<std::int64_t> keys;
};

struct SimLane::Made {
  Name name;
  std::int64_t nth = 0;
  std::vector<std::uint64_t> rows;
};

SimLane::SimLane(std::shared_ptr<SimReactor> reactor, const Options& options, Dice dice)
    : reactor_(std::move(reactor)), options_(options), dice_(dice) {
  std::array<int, 2> ends{};
  HR_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  control_ = UniqueFd(ends[0]);
  end_ = UniqueFd(ends[1]);
  reactor_->WatchFd(control_.get(), [this] { OnControl(); });
}

SimLane::~SimLane() {
  while (!workers_.empty()) Drop(workers_.begin()->second);
  reactor_->UnwatchFd(control_.get());
}

void SimLane::OnControl() {
  std::array<std::byte, sizeof(std::uint64_t)> life{};
  std::deque<UniqueFd> passed;
  const ssize_t size = ReceiveSome(control_.get(), life, passed);
  if (size < 0) return;
  if (size == 0) {  // the trainer lets the lane go
    reactor_->UnwatchFd(control_.get());
    while (!workers_.empty()) Drop(workers_.begin()->second);
    asked_.clear();
    ended_ = true;
    return;
  }
  HR_CHECK(passed.size() == 1 && NumberAt(life, 0) == 0);
  Serve(std::move(passed.front()));
}

void SimLane::Serve(UniqueFd socket) {
  auto worker = std::make_shared<Worker>();
  worker->number = ++connections_;
  worker->socket = std::move(socket);
  workers_.emplace(worker->number, worker);
  const std::array<ByteSpan, 1> release{AsBytes(kVersion)};
  const Bytes hello = dataworker::EncodeStageFrame(StageMessage::kHello, release);
  (void)!::send(worker->socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  reactor_->WatchFd(worker->socket.get(), [this, worker] { OnReadable(worker); });
}

void SimLane::Drop(std::shared_ptr<Worker> worker) {  // NOLINT(performance-unnecessary-value-param)
  if (workers_.erase(worker->number) == 0) return;
  reactor_->UnwatchFd(worker->socket.get());
  std::erase_if(asked_, [&](const Asked& asked) { return asked.worker == worker; });
  worker->socket.reset();
  worker->arena.Reset();
}

void SimLane::OnReadable(const std::shared_ptr<Worker>& worker) {
  for (;;) {
    std::array<std::byte, 4096> some{};
    const ssize_t size = ReceiveSome(worker->socket.get(), some, worker->passed);
    if (size < 0) break;
    if (size == 0) return Drop(worker);
    worker->incoming.insert(worker->incoming.end(), some.begin(), some.begin() + size);
  }
  while (TakeFrame(worker)) {
  }
  Next();
}

bool SimLane::TakeFrame(const std::shared_ptr<Worker>& worker) {
  Bytes& incoming = worker->incoming;
  if (incoming.size() < kHeadBytes) return false;
  std::array<std::uint32_t, 2> head{};  // kind, parts
  std::memcpy(head.data(), incoming.data() + 4, sizeof(head));
  std::size_t at = kHeadBytes + head[1] * sizeof(std::uint64_t);
  if (incoming.size() < at) return false;
  std::size_t end = at;
  const ByteSpan sizes = ByteSpan(incoming).subspan(kHeadBytes);
  for (std::size_t i = 0; i < head[1]; ++i) end += NumberAt(sizes, i);
  if (incoming.size() < end) return false;
  const auto take_fd = [&] {
    HR_CHECK(!worker->passed.empty());
    UniqueFd fd = std::move(worker->passed.front());
    worker->passed.pop_front();
    return fd;
  };
  const auto kind = static_cast<StageMessage>(head[0]);
  if (kind == StageMessage::kArena) {
    UniqueFd memory = take_fd();
    worker->arena.Map(std::move(memory), take_fd());
  } else if (kind == StageMessage::kBatch) {
    Asked asked;
    asked.worker = worker;
    const auto after_number = at + static_cast<std::size_t>(NumberAt(sizes, 0));
    asked.number.assign(incoming.begin() + static_cast<std::ptrdiff_t>(at),
                        incoming.begin() + static_cast<std::ptrdiff_t>(after_number));
    Bytes request(incoming.begin() + static_cast<std::ptrdiff_t>(after_number),
                  incoming.begin() + static_cast<std::ptrdiff_t>(end));
    if (head[1] == 1) {  // it is too large for the frame
      const UniqueFd file = take_fd();
      request.resize(1 << 16);
      const ssize_t size = ::pread(file.get(), request.data(), request.size(), 0);
      HR_CHECK(size > 0 && static_cast<std::size_t>(size) < request.size());
      request.resize(static_cast<std::size_t>(size));
    }
    // As StageRequestBytes.
    HR_CHECK(NumberAt(request, 0) == static_cast<std::uint64_t>(options_.lane));
    asked.base_seed = NumberAt(request, 1);
    asked.slot_offset = NumberAt(request, 2);
    asked.slot_bytes = NumberAt(request, 3);
    asked.keys.resize(NumberAt(request, 4));
    asked.name = {static_cast<std::int64_t>(NumberAt(request, 8)),
                  static_cast<std::int64_t>(NumberAt(request, 9))};
    asked.after = {asked.name.first, static_cast<std::int64_t>(NumberAt(request, 10)) - 1};
    for (std::size_t i = 0; i < asked.keys.size(); ++i) {
      asked.keys[i] = static_cast<std::int64_t>(NumberAt(request, 11 + i));
    }
    asked_.push_back(std::move(asked));
  } else if (kind == StageMessage::kDoor) {
    (void)take_fd();  // its code reads no objects
  } else {
    HR_CHECK(kind == StageMessage::kHello);
  }
  incoming.erase(incoming.begin(), incoming.begin() + static_cast<std::ptrdiff_t>(end));
  return true;
}

void SimLane::Next() {
  while (!busy_ && !asked_.empty()) {
    const Asked asked = std::move(asked_.front());
    asked_.pop_front();
    if (const Made* made = Find(asked)) {
      AnswerMade(asked, *made);
    } else if (asked.name < newest_) {
      Answer(asked, kPassed, 0, nullptr);
    } else if (asked.after.second >= 0 && asked.after > newest_) {
      Answer(asked, kEarly, 0, nullptr);
    } else {
      newest_ = asked.name;
      const bool small = asked.slot_bytes <= IterationOptions::kMostAheadBytes;
      while (kept_.size() > (small ? options_.ahead : 0)) kept_.pop_front();
      Make(asked);
    }
  }
}

const SimLane::Made* SimLane::Find(const Asked& asked) const {
  const auto found = std::ranges::find(kept_, asked.name, &Made::name);
  return found == kept_.end() ? nullptr : &*found;
}

void SimLane::Make(const Asked& asked) {
  busy_ = true;
  const Duration time =
      dice_.Between(options_.least, options_.most) * static_cast<Duration::rep>(options_.slow);
  reactor_->AddOnce(time, [this, asked] {
    busy_ = false;
    ++made_;
    kept_.push_back(
        {asked.name, made_, StageRows(asked.base_seed, options_.lane, made_, asked.keys)});
    AnswerMade(asked, kept_.back());
    Next();
  });
}

void SimLane::AnswerMade(const Asked& asked, const Made& made) {
  const std::uint64_t bytes = StageBytes(asked.keys);
  if (bytes > asked.slot_bytes) return Answer(asked, kTooSmall, bytes, &made);
  const std::span<std::byte> arena = asked.worker->arena.bytes();
  if (arena.empty()) return;  // its worker has gone meanwhile
  HR_CHECK(asked.slot_offset + bytes <= arena.size());
  const ByteSpan rows = std::as_bytes(std::span(made.rows));
  std::ranges::copy(rows, arena.begin() + static_cast<std::ptrdiff_t>(asked.slot_offset));
  Answer(asked, kMade, bytes, &made);
}

void SimLane::Answer(const Asked& asked, std::uint64_t outcome, std::uint64_t needed,
                     const Made* of) {
  if (!asked.worker->socket.valid()) return;
  const std::uint64_t zero = 0, rows = of == nullptr ? 0 : of->rows.size() * sizeof(std::uint64_t);
  const auto number = [](const std::uint64_t& value) {
    return std::as_bytes(std::span(&value, 1));
  };
  const bool made = outcome == kMade;
  const std::uint64_t samples = asked.keys.size(),
                      state = static_cast<std::uint64_t>(of == nullptr ? made_ : of->nth);
  constexpr std::string_view kNone("\x80\x05N.", 4);  // a pickle
  const ByteSpan nothing;
  const std::array<ByteSpan, 14> parts{asked.number,
                                       number(outcome),
                                       number(needed),
                                       made ? AsBytes(kNone) : nothing,
                                       made ? number(zero) : nothing,
                                       made ? number(rows) : nothing,
                                       number(state),
                                       nothing,
                                       nothing,
                                       nothing,
                                       number(zero),
                                       number(made ? samples : zero),
                                       number(zero),
                                       nothing};
  const Bytes frame = dataworker::EncodeStageFrame(StageMessage::kDone, parts);
  const ssize_t sent =
      ::send(asked.worker->socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(frame.size())) Drop(asked.worker);
}

}  // namespace headrace::simulation
