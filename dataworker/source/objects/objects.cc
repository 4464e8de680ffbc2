#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "dataworker/source/core/source.h"
#include "dataworker/source/stores/object_identity.h"
#include "dataworker/source/stores/store_args.h"
#include "remote/object_client.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {
namespace {

using remote::ObjectAnswer;
using remote::ObjectRequest;
using What = ObjectRequest::What;

// Most headers of pictures end before. Asked for by itself, a longer start would be a good part of a
// small object, all of which comes after it.
constexpr std::size_t kFirstBytes = 4096;

// The objects of a table of names, one a row, in a store that is reached by HTTP: "s3://" or
// "https://". The worker reads them with what its own operator lets it do, and with its own
// credentials: a plan has none. An identity is the URL and the version that the store gives. It is
// believed for as long as the plan says. The table's labels are column 1.
class Objects final : public Source {
 public:
  Objects(BlobContent table_bytes, wire::FileTableView table, remote::Store store,
          Duration valid_for, const SourceRegistry::Environment& environment)
      : table_bytes_(std::move(table_bytes)),
        table_(std::move(table)),
        state_(std::make_shared<State>(std::make_shared<const remote::Store>(std::move(store)),
                                       valid_for, environment.read_header, *environment.objects)) {}

  [[nodiscard]] std::int64_t rows() const override { return table_.size(); }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override { return table_.Path(row); }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] bool is_far() const override { return true; }
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
    const auto shared = std::make_shared<const Sink>(std::move(sink));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Begin({state_, shared, meter, i, ask, {}, 0, 0}, rows[i]);
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
    const std::int64_t label = table_.Label(row);
    std::memcpy(out.data(), &label, sizeof(label));
    return {};
  }

 private:
  // What answers refer to, which may come after the source has gone.
  struct State {
    State(std::shared_ptr<const remote::Store> of, Duration valid, HeaderReader reader,
          remote::ObjectClient& by)
        : store(std::move(of)), valid_for(valid), read_header(std::move(reader)), client(by) {}
    const std::shared_ptr<const remote::Store> store;
    const Duration valid_for;
    const HeaderReader read_header;
    remote::ObjectClient& client;
    std::atomic<bool> stopped = false;
  };
  // A row that was asked for.
  struct Open {
    std::shared_ptr<State> state;
    std::shared_ptr<const Sink> sink;
    std::shared_ptr<remote::Meter> meter;
    std::size_t index = 0;
    Ask ask = Ask::kBytes;
    remote::ObjectUrl url;
    std::size_t head_bytes = 0;    // for kSpec
    std::uint64_t bytes_read = 0;  // by earlier requests
  };

  void Begin(Open open, std::int64_t row) const {
    Status refused = CheckRow(row, rows());
    if (refused.ok() && state_->stopped) refused = Unavailable("the source was stopped");
    if (refused.ok() && (open.ask == Ask::kWitness || open.ask == Ask::kWholeWitness)) {
      refused = Unsupported("an object bears no witness: its URL and version identify it");
    }
    if (refused.ok()) {
      Result<remote::ObjectUrl> url = state_->store->UrlOf(table_.Path(row));
      refused = url.status();
      if (url.ok()) open.url = *std::move(url);
    }
    if (!refused.ok()) {
      (*open.sink)(open.index, RowAnswer::Failed(std::move(refused)));
      return;
    }
    open.head_bytes = kFirstBytes;
    Request(std::move(open));
  }
  static void Request(Open open) {
    State& state = *open.state;
    ObjectRequest request{
        .store = state.store, .url = open.url, .owner = &state, .meter = open.meter};
    switch (open.ask) {
      case Ask::kIdentity:
        request.what = What::kHead;
        break;
      case Ask::kSpec:
        request.what = What::kStart;
        request.bytes = open.head_bytes;
        break;
      default:
        request.what = What::kWhole;
        request.bytes = kMaxEncodedBytes;
    }
    state.client.Begin(std::move(request), [open = std::move(open)](ObjectAnswer answer) mutable {
      OnAnswer(std::move(open), std::move(answer));
    });
  }
  static void OnAnswer(Open open, ObjectAnswer came) {
    RowAnswer answer;
    answer.status = std::move(came.status);
    answer.bytes_read = open.bytes_read + came.received;
    if (answer.status.ok() && open.ask == Ask::kSpec) {
      std::size_t wanted = 0;
      const auto more = [&](std::size_t bytes) {
        if (bytes > came.bytes.size() && came.bytes.size() < came.size) wanted = bytes;
        return came.bytes;
      };
      const Result<TensorSpec> spec = open.state->read_header(came.bytes, more);
      if (wanted > open.head_bytes) {  // the header is longer, which is rare
        open.head_bytes = std::clamp<std::size_t>(wanted, kHeadBytes, kMaxEncodedBytes);
        open.bytes_read = answer.bytes_read;
        Request(std::move(open));
        return;
      }
      if (spec.ok()) {
        answer.spec = *spec;
      } else {
        answer.status = spec.status().WithContext(open.url.Name());
      }
    } else if (answer.status.ok()) {
      answer.sample.content = IdentityOfObject(open.url, came.version);
      answer.valid_for = came.version.empty() ? Duration(0) : open.state->valid_for;
      answer.sample.bytes = came.bytes;
      answer.hold = std::move(came.body);
    }
    (*open.sink)(open.index, std::move(answer));
  }

  const BlobContent table_bytes_;  // keeps the view's memory
  const wire::FileTableView table_;
  const std::shared_ptr<State> state_;
  const Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

Result<std::unique_ptr<Source>> MakeObjects(const SourceLeaf& leaf,
                                            const SourceRegistry::Environment& environment) {
  HR_TRY(StoreArgs said, OpenStore(leaf, environment));
  BlobContent bytes = environment.blob(leaf.table);
  if (!bytes) return NotFound("the table of names of the plan is missing");
  HR_TRY(wire::FileTableView view, wire::FileTableView::Open(*bytes));
  return std::unique_ptr<Source>(std::make_unique<Objects>(
      std::move(bytes), std::move(view), std::move(said.store), said.valid_for, environment));
}

}  // namespace

void RegisterSourceObjects(SourceRegistry& registry) { registry.Add("objects", MakeObjects); }

}  // namespace headrace::dataworker
