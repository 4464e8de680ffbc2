// Encoded images that are ranges of shards, which are objects in a store.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/source/core/source.h"
#include "dataworker/source/object_ranges/shard_versions.h"
#include "dataworker/source/ranges/ranges.h"
#include "dataworker/source/ranges/zip_member.h"
#include "dataworker/source/stores/object_identity.h"
#include "dataworker/source/stores/store_args.h"
#include "remote/object_client.h"

namespace headrace::dataworker {
namespace {

using remote::ObjectAnswer;
using remote::ObjectRequest;
using What = ObjectRequest::What;

// Most headers of pictures end before.
constexpr std::size_t kFirstBytesOfRange = 4096;
// What a header in a zip is unpacked to, at most.
constexpr std::size_t kMostHead = std::size_t{1} << 20;

// As the source "objects", with the ranges of a range table. Neighbours that are asked for together
// come with one request. The identity of a shard is its URL and version. A shard in another version
// than the table says is refused: the range may now hold another sample.
class ObjectRanges final : public Source {
 public:
  ObjectRanges(BlobContent bytes, wire::RangeTableView table, StoreArgs said,
               const SourceRegistry::Environment& environment)
      : state_(std::make_shared<State>(std::move(bytes), std::move(table), std::move(said),
                                       environment)) {}

  [[nodiscard]] std::int64_t rows() const override { return state_->table.size(); }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override {
    const wire::RangeTableView::Range range = state_->table.At(row);
    return state_->table.Shard(range.shard) + " at byte " + std::to_string(range.first);
  }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask /*ask*/, std::int64_t /*row*/,
                                             ScratchBuffer& /*buffer*/) const override {
    return std::nullopt;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    FetchMetered(ask, rows, std::move(sink), nullptr);
  }
  [[nodiscard]] bool is_metered() const override { return true; }
  void FetchMetered(Ask ask, std::span<const std::int64_t> rows, Sink sink,
                    std::shared_ptr<remote::Meter> meter) const override {
    auto call = std::make_shared<Call>(Call{state_,
                                            std::move(sink),
                                            {rows.begin(), rows.end()},
                                            state_->versions.Now(),
                                            std::move(meter)});
    std::vector<std::size_t> valid;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (Status refused = Refuse(ask, rows[i]); !refused.ok()) {
        call->sink(i, RowAnswer::Failed(std::move(refused)));
      } else {
        valid.push_back(i);
      }
    }
    switch (ask) {
      case Ask::kIdentity:
        Identify(call, valid);
        break;
      case Ask::kSpec:
        for (const std::size_t index : valid) Describe(call, index, kFirstBytesOfRange, 0);
        break;
      default:
        for (RangeRun& run : JoinNeighbours(state_->table, rows, std::move(valid))) {
          Read(call, std::move(run));
        }
    }
    if (state_->stopped) state_->client.Cancel(state_.get());  // Stop came in between
  }
  void Stop() override {
    state_->stopped = true;
    state_->client.Cancel(state_.get());
  }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t /*index*/, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(CheckRow(row, rows()));
    const std::int64_t label = state_->table.Label(row);
    std::memcpy(out.data(), &label, sizeof(label));
    return {};
  }

 private:
  // What answers refer to, which may come after the source has gone.
  struct State {
    State(BlobContent held, wire::RangeTableView view, StoreArgs said,
          const SourceRegistry::Environment& environment)
        : bytes(std::move(held)),
          table(std::move(view)),
          store(std::make_shared<const remote::Store>(std::move(said.store))),
          read_header(environment.read_header),
          client(*environment.objects),
          versions(*environment.clock, said.valid_for) {}
    const BlobContent bytes;  // keeps the view's memory
    const wire::RangeTableView table;
    const std::shared_ptr<const remote::Store> store;
    const HeaderReader read_header;
    remote::ObjectClient& client;
    ShardVersions versions;
    std::atomic<bool> stopped = false;
  };
  // One Fetch.
  struct Call {
    std::shared_ptr<State> state;
    Sink sink;
    std::vector<std::int64_t> rows;
    SteadyTime asked;
    std::shared_ptr<remote::Meter> meter;

    [[nodiscard]] wire::RangeTableView::Range At(std::size_t index) const {
      return state->table.At(rows[index]);
    }
  };
  using CallPtr = std::shared_ptr<const Call>;

  [[nodiscard]] Status Refuse(Ask ask, std::int64_t row) const {
    HR_RETURN_IF_ERROR(CheckRow(row, rows()));
    if (state_->stopped) return Unavailable("the source was stopped");
    if (ask == Ask::kWitness || ask == Ask::kWholeWitness) {
      return Unsupported("an object bears no witness: its URL and version identify it");
    }
    const wire::RangeTableView::Range range = state_->table.At(row);
    if (ask != Ask::kIdentity && range.size == 0) return Unsupported("no bytes: " + NameOf(row));
    if (range.size > kMaxEncodedBytes) return Unsupported("larger than 1 GiB: " + NameOf(row));
    return state_->store->UrlOf(state_->table.Shard(range.shard)).status();
  }

  // Refused, if the shard is in another version than the table was made of.
  static Status CheckVersion(const State& state, std::int64_t shard, const std::string& version) {
    const std::string_view listed = state.table.Version(shard);
    if (listed.empty() || listed == version) return {};
    return Unavailable(state.table.Shard(shard) + kChangedShard);
  }
  static void SetIdentity(const State& state, std::int64_t shard, const std::string& version,
                          Duration valid_for, std::int64_t row, RowAnswer& answer) {
    // Refuse looked at the URL.
    const remote::ObjectUrl url = *state.store->UrlOf(state.table.Shard(shard));
    const wire::RangeTableView::Range range = state.table.At(row);
    answer.sample.content = IdentityOfRange(IdentityOfObject(url, version),
                                            {range.first, range.size}, state.table.Member(row));
    answer.valid_for = version.empty() ? Duration(0) : valid_for;
  }

  static ObjectRequest RequestFor(const Call& call, std::int64_t shard, What what,
                                  FileRange range) {
    State& state = *call.state;
    return {.store = state.store,
            .url = *state.store->UrlOf(state.table.Shard(shard)),  // Refuse looked at it
            .what = what,
            .bytes = range.size,
            .first = range.first,
            .owner = &state,
            .meter = call.meter};
  }

  static void Identify(const CallPtr& call, const std::vector<std::size_t>& indexes) {
    std::map<std::int64_t, std::vector<std::size_t>> of_shards;
    for (const std::size_t index : indexes) of_shards[call->At(index).shard].push_back(index);
    State& state = *call->state;
    for (auto& [shard, its] : of_shards) {
      if (const auto known = state.versions.Find(shard)) {
        AnswerIdentities(*call, shard, its, known->version, known->valid_for);
        continue;
      }
      state.client.Begin(RequestFor(*call, shard, What::kHead, {}),
                         [call, shard, its = std::move(its)](ObjectAnswer came) {
                           OnHead(*call, shard, its, std::move(came));
                         });
    }
  }
  static void OnHead(const Call& call, std::int64_t shard, const std::vector<std::size_t>& indexes,
                     ObjectAnswer came) {
    if (!came.status.ok()) {
      for (const std::size_t index : indexes) call.sink(index, RowAnswer::Failed(came.status));
      return;
    }
    call.state->versions.Note(shard, came.version, call.asked);
    AnswerIdentities(call, shard, indexes, came.version, call.state->versions.Left(call.asked));
  }
  static void AnswerIdentities(const Call& call, std::int64_t shard,
                               const std::vector<std::size_t>& indexes, const std::string& version,
                               Duration valid_for) {
    const Status same = CheckVersion(*call.state, shard, version);
    for (const std::size_t index : indexes) {
      RowAnswer answer = RowAnswer::Failed(same);
      if (same.ok()) {
        SetIdentity(*call.state, shard, version, valid_for, call.rows[index], answer);
      }
      call.sink(index, std::move(answer));
    }
  }

  static void Describe(const CallPtr& call, std::size_t index, std::size_t bytes,
                       std::uint64_t read_before) {
    const wire::RangeTableView::Range range = call->At(index);
    const std::size_t wanted = std::min<std::size_t>(bytes, range.size);
    State& state = *call->state;
    state.client.Begin(RequestFor(*call, range.shard, What::kRange, {range.first, wanted}),
                       [call, index, wanted, read_before](ObjectAnswer came) {
                         OnHeader(call, index, wanted, read_before, std::move(came));
                       });
  }
  static void OnHeader(const CallPtr& call, std::size_t index, std::size_t had,
                       std::uint64_t read_before, ObjectAnswer came) {
    const State& state = *call->state;
    const wire::RangeTableView::Range range = call->At(index);
    RowAnswer answer;
    answer.status = Judge(*call, range.shard, had, came);
    answer.bytes_read = read_before + came.received;
    if (answer.status.ok()) {
      ScratchBuffer unpacked;
      Result<ByteSpan> head = came.bytes;
      std::size_t wanted = 0;
      const auto member = state.table.Member(call->rows[index]);
      if (member) {
        head = UnpackHead(came.bytes, *member, kMostHead, unpacked);
        const bool few = head.ok() && head->size() < std::min<std::size_t>(member->size, had / 2);
        if (few && had < range.size) wanted = 2 * had;  // the zip's own header is long
      }
      const auto more = [&](std::size_t bytes) {
        // How many packed bytes it takes shows when they are there.
        if (bytes > head->size() && had < range.size) {
          wanted = member ? std::max(bytes, 2 * had) : bytes;
        }
        return *head;
      };
      Result<TensorSpec> spec =
          head.ok() ? state.read_header(*head, more) : Result<TensorSpec>(head.status());
      if (wanted > had) {  // the header is longer, which is rare
        Describe(call, index, std::max(wanted, kHeadBytes), answer.bytes_read);
        return;
      }
      if (spec.ok()) {
        answer.spec = *spec;
      } else {
        answer.status = spec.status().WithContext(state.table.Shard(range.shard) + " at byte " +
                                                  std::to_string(range.first));
      }
    }
    call->sink(index, std::move(answer));
  }

  static void Read(const CallPtr& call, RangeRun run) {
    State& state = *call->state;
    ObjectRequest request = RequestFor(*call, run.shard, What::kRange, run.span);
    state.client.Begin(std::move(request), [call, run = std::move(run)](ObjectAnswer came) {
      OnRun(*call, run, std::move(came));
    });
  }
  static void OnRun(const Call& call, const RangeRun& run, ObjectAnswer came) {
    const Status status = Judge(call, run.shard, run.span.size, came);
    const Duration valid_for = call.state->versions.Left(call.asked);
    std::uint64_t unaccounted = came.received;
    for (const std::size_t index : run.indexes) {
      const wire::RangeTableView::Range range = call.At(index);
      RowAnswer answer = RowAnswer::Failed(status);
      answer.bytes_read = std::exchange(unaccounted, 0);
      if (status.ok()) {
        answer.sample.bytes = came.bytes.subspan(range.first - run.span.first, range.size);
        answer.sample.member = call.state->table.Member(call.rows[index]);
        answer.hold = came.body;
        SetIdentity(*call.state, run.shard, came.version, valid_for, call.rows[index], answer);
      }
      call.sink(index, std::move(answer));
    }
  }
  // Whether these are the bytes that were asked for. Notes the version.
  static Status Judge(const Call& call, std::int64_t shard, std::uint64_t size,
                      const ObjectAnswer& came) {
    HR_RETURN_IF_ERROR(came.status);
    call.state->versions.Note(shard, came.version, call.asked);
    HR_RETURN_IF_ERROR(CheckVersion(*call.state, shard, came.version));
    if (came.bytes.size() == size) return {};
    return Unavailable("ends before the sample does: " + call.state->table.Shard(shard));
  }

  const std::shared_ptr<State> state_;
  const Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

Result<std::unique_ptr<Source>> MakeObjectRanges(const SourceLeaf& leaf,
                                                 const SourceRegistry::Environment& environment) {
  HR_TRY(StoreArgs said, OpenStore(WithoutMembers(leaf), environment));
  HR_TRY(OpenedRanges table, OpenRanges(leaf, environment.blob));
  return std::unique_ptr<Source>(std::make_unique<ObjectRanges>(
      std::move(table.bytes), std::move(table.view), std::move(said), environment));
}

}  // namespace

void RegisterSourceObjectRanges(SourceRegistry& registry) {
  registry.Add("object_ranges", MakeObjectRanges);
}

}  // namespace headrace::dataworker
