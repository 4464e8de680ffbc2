#include "trainer_client/session/arena.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <utility>

#include "base/check.h"

namespace headrace::client {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLeastArena = std::uint64_t{1} << 20;
// Of a bounded address space the arena takes a ninth at most. A lane has it by its fork and maps it
// again for each worker, and the program's own memory must fit too.
constexpr std::uint64_t kOtherArenas = 8;

std::string MiB(std::uint64_t bytes) { return std::to_string((bytes + 1048575) >> 20) + " MiB"; }

// Whether what else needs address space beside an arena of this size has it.
bool LeavesRoom(std::uint64_t size) {
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return true;
  const std::uint64_t others = size * kOtherArenas;
  void* address =
      ::mmap(nullptr, others, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return false;
  ::munmap(address, others);
  return true;
}

// Rounds up to the next of eight sizes per doubling, in pages. This wastes at most an eighth, and
// batches of nearly the same size share slots.
std::uint64_t SizeClass(std::uint64_t bytes) {
  bytes = std::max(bytes, kPage);
  const std::uint64_t step = std::max(std::bit_floor(bytes) / 8, kPage);
  return (bytes + step - 1) / step * step;
}

}  // namespace

Result<std::shared_ptr<Arena>> Arena::Make(std::uint64_t max_bytes,
                                           std::function<std::uint64_t()> available) {
  std::shared_ptr<Arena> arena(new Arena);
  arena->available_ = std::move(available);
  arena->pid_ = ::getpid();
  arena->fd_ = UniqueFd(::memfd_create("headrace-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!arena->fd_.valid()) return ErrnoStatus(errno, "memfd_create for the batch arena");
  // A limit of the process (ulimit -v, -f) may leave less address space than the bound asks for.
  std::uint64_t size = std::max(max_bytes, kLeastArena) / kPage * kPage * 2;
  // Beyond that one ftruncate would raise SIGXFSZ, which ends a program that does not ignore it.
  rlimit file_size{};
  if (::getrlimit(RLIMIT_FSIZE, &file_size) == 0) {
    size = std::min<std::uint64_t>(size, file_size.rlim_cur / kPage * kPage);
  }
  for (;; size = size / 2 / kPage * kPage) {
    if (size < 2 * kLeastArena) {
      return ResourceExhausted("a batch arena of " + MiB(kLeastArena) +
                               " does not fit into the limits of this process; raise `ulimit -v` "
                               "and `ulimit -f`");
    }
    if (::ftruncate(arena->fd_.get(), static_cast<off_t>(size)) != 0) continue;
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd_.get(), 0);
    if (address == MAP_FAILED) continue;
    if (!LeavesRoom(size)) {
      ::munmap(address, size);
      continue;
    }
    arena->base_ = static_cast<std::byte*>(address);
    break;
  }
  arena->size_ = size;
  arena->bound_ = size / 2;
  if (::fcntl(arena->fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return ErrnoStatus(errno, "sealing the batch arena");
  }
  (void)::madvise(arena->base_, size, MADV_DONTDUMP);  // batches are no help in a core file
  arena->ranges_.emplace(0, size);
  return arena;
}

Arena::~Arena() {
  if (base_ != nullptr) ::munmap(base_, size_);
}

bool Arena::Heirs::gone() const {
  if (!fd.valid()) return false;
  pollfd poll{.fd = fd.get(), .events = 0, .revents = 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & POLLHUP) != 0;
}

Result<Slot> Arena::Acquire(std::uint64_t bytes, bool beyond_bound) {
  const std::scoped_lock lock(mutex_);
  auto it = free_.lower_bound(bytes);
  if (it == free_.end() && !inherited_.empty()) {
    FreeInherited();
    it = free_.lower_bound(bytes);
  }
  if (it != free_.end() && (beyond_bound || BytesInUse() + it->first <= bound_)) {
    Entry& entry = At(it->second);
    free_.erase(it);
    Move(entry, State::kLent);
    return entry.slot;
  }
  if (!free_.empty()) RetireSmallest();
  return MakeSlot(SizeClass(bytes), beyond_bound);
}

std::uint64_t Arena::BytesInUse() const {
  std::uint64_t bytes = counts_.bytes;
  for (const auto& [size, slot] : free_) bytes -= size;
  return bytes;
}

Result<Slot> Arena::MakeSlot(std::uint64_t bytes, bool beyond_bound) {
  while (counts_.bytes + bytes > bound_ && !free_.empty()) RetireSmallest();
  auto range = std::find_if(ranges_.begin(), ranges_.end(),
                            [&](const auto& r) { return r.second >= bytes; });
  while (range == ranges_.end() && !free_.empty()) {
    RetireSmallest();
    range = std::find_if(ranges_.begin(), ranges_.end(),
                         [&](const auto& r) { return r.second >= bytes; });
  }
  if (range == ranges_.end() || (!beyond_bound && counts_.bytes + bytes > bound_)) {
    const char* heirs =
        counts_.inherited > 0 ? ", end the processes forked while it kept some" : "";
    return ResourceExhausted("a batch slot of " + MiB(bytes) + " does not fit: " +
                             MiB(counts_.bytes) + " of the arena's " + MiB(bound_) +
                             " are in use; drop or copy batches that are kept" + heirs +
                             ", lower batch_size or prefetch_factor, or raise the bound "
                             "(`headrace run --memory`, HEADRACE_MEMORY; C++: max_arena_bytes)");
  }
  const std::uint64_t available = available_();
  const std::uint64_t offset = range->first;
  int error = available < bytes ? ENOMEM : 0;
  if (error == 0) {
    do {
      error = ::fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0
                  ? 0
                  : errno;
    } while (error == EINTR);
  }
  if (error != 0) {
    (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (error != ENOMEM && error != ENOSPC) return ErrnoStatus(error, "reserving a batch slot");
    return ResourceExhausted(
        "no memory for a batch slot of " + MiB(bytes) + " (" + MiB(counts_.bytes) +
        " in slots already, " + MiB(available) +
        " available); lower batch_size or prefetch_factor, or raise the memory "
        "limit of the container");
  }
  const std::uint64_t rest = range->second - bytes;
  ranges_.erase(range);
  if (rest > 0) ranges_.emplace(offset + bytes, rest);
  counts_.bytes += bytes;
  if (retired_.empty()) {
    retired_.emplace_back(static_cast<std::int64_t>(slots_.size()));
    slots_.emplace_back();
    ++retired_count_;
  }
  const SlotId id = retired_.back();
  retired_.pop_back();
  Entry& entry = At(id);
  entry.slot = {id, offset, bytes};
  Move(entry, State::kLent);
  return entry.slot;
}

void Arena::RetireSmallest() {
  const SlotId id = free_.begin()->second;
  free_.erase(free_.begin());
  Entry& entry = At(id);
  (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(entry.slot.offset), static_cast<off_t>(entry.slot.bytes));
  counts_.bytes -= entry.slot.bytes;
  AddRange(entry.slot.offset, entry.slot.bytes);
  Move(entry, State::kRetired);
  retired_.push_back(id);
}

// Takes back slots that only processes had which are gone now.
void Arena::FreeInherited() {
  std::erase_if(inherited_, [this](SlotId id) {
    Entry& entry = At(id);
    std::erase_if(entry.heirs, [](const auto& heirs) { return heirs->gone(); });
    if (!entry.heirs.empty()) return false;
    Move(entry, State::kFree);
    free_.emplace(entry.slot.bytes, id);
    return true;
  });
}

void Arena::AddRange(std::uint64_t offset, std::uint64_t bytes) {
  auto next = ranges_.lower_bound(offset);
  if (next != ranges_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin()) {
    if (const auto previous = std::prev(next); previous->first + previous->second == offset) {
      previous->second += bytes;
      return;
    }
  }
  ranges_.emplace(offset, bytes);
}

MutableByteSpan Arena::Memory(const Slot& slot) { return {base_ + slot.offset, slot.bytes}; }

std::int64_t& Arena::CountOf(State state) {
  switch (state) {
    case State::kFree:
      return counts_.free;
    case State::kLent:
      return counts_.lent;
    case State::kReady:
      return counts_.ready;
    case State::kHeld:
      return counts_.held;
    case State::kQuarantined:
      return counts_.quarantined;
    case State::kInherited:
      return counts_.inherited;
    case State::kRetired:
      break;
  }
  return retired_count_;
}

void Arena::Move(Entry& entry, State state) {
  --CountOf(entry.state);
  ++CountOf(state);
  entry.state = state;
}

void Arena::SetState(SlotId slot, State state) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = At(slot);
  HR_CHECK(entry.state != State::kFree && entry.state != State::kRetired);
  Move(entry, state);
  if (state == State::kFree) free_.emplace(entry.slot.bytes, slot);
}

void Arena::Quarantine(SlotId slot) { SetState(slot, State::kQuarantined); }
void Arena::MarkReady(SlotId slot) { SetState(slot, State::kReady); }
void Arena::Return(SlotId slot) { SetState(slot, State::kFree); }

std::shared_ptr<void> Arena::Hold(SlotId slot) {
  SetState(slot, State::kHeld);
  return {base_, [self = shared_from_this(), slot](void*) mutable {
            // In a forked child the mutex may be locked for ever and the slot is the parent's.
            if (self->pid_ != ::getpid()) {
              new std::shared_ptr<Arena>(std::move(self));  // leaked on purpose: keeps the mapping
              return;
            }
            self->Free(slot);
          }};
}

void Arena::Free(SlotId slot) {
  std::shared_ptr<const std::function<void()>> callback;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = At(slot);
    std::erase_if(entry.heirs, [](const auto& heirs) { return heirs->gone(); });
    if (!entry.heirs.empty()) {
      Move(entry, State::kInherited);
      inherited_.push_back(slot);
      return;
    }
    Move(entry, State::kFree);
    free_.emplace(entry.slot.bytes, slot);
    ++frees_;
    callback = on_free_;
  }
  if (callback) (*callback)();
}

UniqueFd Arena::KeepForHeirs() {
  const std::scoped_lock lock(mutex_);
  if (counts_.held == 0) return {};
  int ends[2] = {-1, -1};
  (void)::pipe2(ends, O_CLOEXEC);  // -1: heirs that are never known to be gone
  const auto heirs = std::make_shared<const Heirs>(Heirs{UniqueFd(ends[0])});
  for (Entry& entry : slots_) {
    if (entry.state != State::kHeld) continue;
    std::erase_if(entry.heirs, [](const auto& before) { return before->gone(); });
    entry.heirs.push_back(heirs);
  }
  return UniqueFd(ends[1]);
}

void Arena::OnFree(std::function<void()> callback) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(callback));
  const std::scoped_lock lock(mutex_);
  on_free_ = std::move(shared);
}

Arena::Counts Arena::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace headrace::client
