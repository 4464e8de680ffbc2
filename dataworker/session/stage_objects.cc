#include "dataworker/session/stage_objects.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/pass/digest.h"
#include "dataworker/session/on_reactor.h"
#include "dataworker/share/files_ahead.h"
#include "dataworker/share/pictures_ahead.h"
#include "dataworker/source/ranges/ranges.h"
#include "dataworker/source/stores/object_identity.h"
#include "dataworker/source/stores/store_args.h"
#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

using remote::ObjectRequest;
using What = ObjectAsk::What;

// Answers with no more bytes lie in the frame itself: a memory file costs more than the copy.
constexpr std::size_t kMostFew = std::size_t{64} << 10;
constexpr std::size_t kMostSeen = std::size_t{1} << 16;
constexpr std::uint64_t kMostLane = std::uint64_t{1} << 20;
// What a process may say at once that it has received.
constexpr std::uint64_t kMostPaid = std::uint64_t{1} << 40;

// Of ranges as stages ask for them: the bytes.
EntryForm RangeForm() {
  static const EntryForm form = [] {
    const ByteSpan name = AsBytes("headrace.fs: the bytes of a range");
    const Digest digest = DigestOf(std::span(&name, 1));
    return EntryForm{digest[0], digest[1]};
  }();
  return form;
}

CacheKey KeyOf(const remote::ObjectUrl& url, const std::string& version, const ObjectAsk& ask) {
  const FileRange range =
      ask.what == What::kWhole
          ? FileRange{.first = 0, .size = std::numeric_limits<std::uint64_t>::max()}
          : FileRange{.first = ask.first, .size = ask.bytes};
  return {IdentityOfRange(IdentityOfObject(url, version), range), RangeForm()};
}

std::string ListQuery(const std::string& prefix, const ObjectAsk& ask) {
  const auto field = [](std::string_view name, const std::string& value) {
    return value.empty() ? "" : std::string(name) + remote::PercentEncode(value, false) + "&";
  };
  return field("continuation-token=", ask.token) + field("delimiter=", ask.delimiter) +
         "encoding-type=url&list-type=2&prefix=" + remote::PercentEncode(prefix, false);
}

Status NotAllowed(std::string why) {
  return {Code::kUnavailable, std::move(why), Detail::kNotAllowed};
}

}  // namespace

Status StageObjects::Open() {
  HR_TRY(door_, ObjectDoor::Open(environment_.reactor,
                                 [this](std::uint64_t connection, ObjectAsk ask, UniqueFd passed) {
                                   OnAsk(connection, std::move(ask), std::move(passed));
                                 }));
  return {};
}

void StageObjects::Close() {
  if (closed()) return;
  door_.reset();
  environment_.reads->Drop(attachment_.session());
  environment_.ahead.Forget(attachment_.session());
  environment_.decoded_ahead.Forget(attachment_.session());
  for (const auto& [connection, object] : open_) object->Stop();
  open_.clear();
}

Result<ObjectRequest> StageObjects::RequestOf(const ObjectAsk& ask) const {
  HR_TRY(remote::Store store, remote::Store::Make(ask.store));
  if (!IsBelowRoots(ask.name, environment_.limits.allowed_roots)) {
    return NotAllowed(ask.name + " lies below none of the places that this worker may read");
  }
  ObjectRequest request{.store = nullptr, .url = {}, .bytes = ask.bytes, .first = ask.first};
  if (ask.what == What::kList) {
    const std::string bucket =
        store.base().substr(0, store.base().find('/', store.base().find("://") + 3) + 1);
    if (!store.s3() || !ask.name.starts_with(bucket)) {
      return InvalidArgument(ask.name + " is in no bucket");
    }
    request.url = store.BucketUrl(ListQuery(ask.name.substr(bucket.size()), ask));
    request.what = ObjectRequest::What::kText;
    request.bytes = ObjectAsk::kMostBytes;
  } else {
    HR_TRY(request.url, store.UrlOf(ask.name));
    request.what = ask.what == What::kLook    ? ObjectRequest::What::kHead
                   : ask.what == What::kRange ? ObjectRequest::What::kRange
                                              : ObjectRequest::What::kWhole;
  }
  request.store = std::make_shared<const remote::Store>(std::move(store));
  return request;
}

bool StageObjects::IsNew(const Asked& asked) {
  if (seen_.size() >= kMostSeen) seen_.clear();
  const std::uint64_t range = MixBits(asked.ask.first ^ MixBits(asked.ask.bytes));
  return seen_.insert(HashBytes(AsBytes(asked.request.url.Name()), range)).second;
}

void StageObjects::OnAsk(std::uint64_t connection, ObjectAsk ask, UniqueFd passed) {
  ++unanswered_;
  if (unanswered_ > kMostUnanswered) {
    Answer(connection, {.status = ResourceExhausted("too many questions whose askers have gone")});
    return;
  }
  if (ask.what == What::kAhead) {
    Answer(connection, OnAhead(ask));
    return;
  }
  if (ask.what == What::kDecode) {
    Answer(connection, OnDecode(ask));
    return;
  }
  if (ask.what >= What::kLeafIndex) {
    OnLeafAsk(connection, ask, std::move(passed));
    return;
  }
  if (ask.what == What::kPaid) {
    environment_.queue.Charge(attachment_.job(), {}, std::min(ask.bytes, kMostPaid));
    Answer(connection, {});
    return;
  }
  Result<ObjectRequest> request = RequestOf(ask);
  if (!request.ok()) {
    Answer(connection, {.status = request.status()});
    return;
  }
  Asked asked{.connection = connection,
              .ask = std::move(ask),
              .request = std::move(request).value(),
              .cache = nullptr};
  if (asked.ask.what == What::kWhole || asked.ask.what == What::kRange) {
    asked.cache = attachment_.cache();
  }
  if (!asked.cache) {
    ObjectRequest all = asked.request;
    const Ask how = asked.ask.what == What::kLook ? Ask::kIdentity : Ask::kBytes;
    Fetch(std::move(asked), std::move(all), how, &StageObjects::OnRead);
    return;
  }
  if (!asked.ask.version.empty()) {
    LookUp(std::move(asked));
    return;
  }
  asked.is_new = IsNew(asked);
  ObjectRequest first = asked.request;
  if (asked.is_new && first_ask_.BytesFirst()) {
    Fetch(std::move(asked), std::move(first), Ask::kBytes, &StageObjects::OnRead);
    return;
  }
  first.what = ObjectRequest::What::kHead;
  Fetch(std::move(asked), std::move(first), Ask::kIdentity, &StageObjects::OnVersion);
}

void StageObjects::OnLeafAsk(std::uint64_t connection, const ObjectAsk& ask, UniqueFd passed) {
  // Neighbours answer later, when this may have gone.
  AskNeighbours(
      environment_, attachment_, ask,
      [weak = weak_from_this(), connection, ask,
       passed = std::make_shared<UniqueFd>(std::move(passed))](std::optional<ObjectTold> told) {
        const auto self = weak.lock();
        if (!self || self->closed()) return;
        self->Answer(connection, told ? std::move(*told)
                                      : AnswerLeafAsk(self->environment_, self->attachment_, ask,
                                                      std::move(*passed), self->own_reads_));
      });
}

bool StageObjects::IsForLanes() const {
  return attachment_.here() && attachment_.request().lanes_given;
}

std::vector<std::int64_t> StageObjects::WaitingOf(const ObjectAsk& ask) const {
  return waiting_(LaneId(static_cast<std::int64_t>(std::min<std::uint64_t>(ask.first, kMostLane))));
}

ObjectTold StageObjects::OnDecode(const ObjectAsk& ask) {
  if (!IsForLanes()) {
    return {.status = Unsupported("pictures are decoded ahead for lanes of this host")};
  }
  ObjectTold told;
  const Result<ObjectAsk::Decoding> decoding = ask.DecodingOf(PicturesAhead::kMostAs);
  if (!decoding.ok()) {
    told.status = decoding.status();
    return told;
  }
  PicturesAhead::Question question{.lane = std::min(ask.first, kMostLane),
                                   .at = decoding->at,
                                   .as = static_cast<PicturesAhead::As>(decoding->as),
                                   .wants_memory = decoding->wants_memory,
                                   .wanted = {}};
  // What the lane then reads is charged to its job. One in debt to its limit is not helped beyond it.
  if (environment_.queue.MayRead(attachment_.job(), WorkQueue::Reader::kUnit)) {
    for (ObjectAsk::Opened& opened : ask.WasOpened()) {
      for (std::string& name : opened.names) {
        question.wanted.push_back({opened.key, std::move(name)});
      }
    }
  }
  Result<PicturesAhead::Told> pictures =
      environment_.decoded_ahead.Ask(attachment_.session(), std::move(question));
  if (!pictures.ok()) {
    told.status = pictures.status();
    return told;
  }
  const std::vector<std::int64_t> keys = WaitingOf(ask);
  const auto count = static_cast<std::int64_t>(keys.size());
  for (const ByteSpan part : {std::as_bytes(std::span(&count, 1)), std::as_bytes(std::span(keys)),
                              std::as_bytes(std::span(pictures->rows))}) {
    told.few.insert(told.few.end(), part.begin(), part.end());
  }
  told.size = static_cast<std::uint64_t>(pictures->cores);
  if (pictures->memory.valid()) told.count = PictureRing::kBytes;
  told.memory = std::move(pictures->memory);
  return told;
}

ObjectTold StageObjects::OnAhead(const ObjectAsk& ask) {
  // Only the trainer's own processes, which may read the files by themselves.
  if (!IsForLanes()) {
    return {.status = Unsupported("files are read ahead for lanes of this host")};
  }
  const SessionId session = attachment_.session();
  // What the lane then reads is charged to its job. One in debt to its limit is not helped beyond it.
  if (environment_.queue.MayRead(attachment_.job(), WorkQueue::Reader::kUnit)) {
    environment_.ahead.Read(session, ask.Names());
    environment_.ahead.ReadOf(session, ask.Keys());
  }
  for (ObjectAsk::Opened& opened : ask.WasOpened()) {
    environment_.ahead.Remember(session, opened.key, std::move(opened.names));
  }
  const FilesAhead::Counts counts = environment_.ahead.TakeCounts(session);
  ObjectTold told;
  told.size = counts.looked_at;
  told.count = counts.waited_for;
  const std::vector<std::int64_t> keys = WaitingOf(ask);
  told.few = CopyBytes(std::as_bytes(std::span(keys)));
  return told;
}

void StageObjects::Fetch(Asked asked, ObjectRequest request, Ask ask, OnAnswer then) {
  auto object = std::make_shared<AskedObject>(environment_.objects, std::move(request));
  open_[asked.connection] = object;
  const auto came = OnReactor(environment_.reactor, weak_from_this(),
                              [object, then](StageObjects& self, Asked of, RowAnswer answer) {
                                self.open_.erase(of.connection);
                                (self.*then)(std::move(of), *object, std::move(answer));
                              });
  environment_.reads->Fetch(
      {attachment_.job(), attachment_.session(), IterationId()}, ask, object, {0},
      [came, asked = std::move(asked)](std::size_t /*index*/, RowAnswer answer) {
        came(asked, std::move(answer));
      });
}

void StageObjects::OnVersion(Asked asked, const AskedObject& object, RowAnswer answer) {
  if (!answer.status.ok()) {
    Answer(asked.connection, {.status = std::move(answer.status)});
  } else if (object.version().empty()) {
    ObjectRequest all = asked.request;
    asked.cache = nullptr;  // nobody would find it again
    Fetch(std::move(asked), std::move(all), Ask::kBytes, &StageObjects::OnRead);
  } else {
    asked.ask.version = object.version();
    asked.ask.size = object.size();
    LookUp(std::move(asked));
  }
}

void StageObjects::LookUp(Asked asked) {
  const CacheKey key = KeyOf(asked.request.url, asked.ask.version, asked.ask);
  asked.found = asked.cache->Find(key);
  if (!asked.found.later) {
    OnFound(std::move(asked));
    return;
  }
  const auto found = OnReactor(environment_.reactor, weak_from_this(),
                               [](StageObjects& self, Asked of, CacheLookup later) {
                                 of.found = std::move(later);
                                 self.OnFound(std::move(of));
                               });
  const CacheLookup stopped = asked.found;
  const std::shared_ptr<const CacheLease> cache = asked.cache;
  cache->FindLater(key, stopped, [found, asked = std::move(asked)](CacheLookup later) {
    found(asked, std::move(later));
  });
}

void StageObjects::OnFound(Asked asked) {
  const CachePin pin = std::exchange(asked.found.pin, CachePin());
  if (asked.is_new) first_ask_.Note(static_cast<bool>(pin));
  if (!pin) {
    ObjectRequest all = asked.request;
    Fetch(std::move(asked), std::move(all), Ask::kBytes, &StageObjects::OnRead);
    return;
  }
  Content content{.bytes = pin.bytes(),
                  .hold = std::make_shared<const CachePin>(pin),
                  .size = asked.ask.size,
                  .version = asked.ask.version};
  Tell(std::move(asked), std::move(content));
}

void StageObjects::OnRead(Asked asked, const AskedObject& object, RowAnswer answer) {
  if (!answer.status.ok()) {
    Answer(asked.connection, {.status = std::move(answer.status)});
    return;
  }
  Tell(std::move(asked), {.bytes = answer.sample.bytes,
                          .hold = std::move(answer.hold),
                          .size = object.size(),
                          .version = object.version(),
                          .is_read = true});
}

// The answer goes out before its content is kept: a process waits for it.
void StageObjects::Tell(Asked asked, Content content) {
  const bool keeps = content.is_read && asked.cache && !content.version.empty();
  auto told = std::make_shared<ObjectTold>();
  told->size = content.size;
  told->version = content.version;
  const bool is_few = content.bytes.size() <= kMostFew;
  if (is_few) {
    told->few = CopyBytes(content.bytes);
    Answer(asked.connection, std::move(*told));
    if (!keeps) return;
  }
  const auto made = OnReactor(
      environment_.reactor, weak_from_this(),
      [connection = asked.connection](StageObjects& self, std::shared_ptr<ObjectTold> of) {
        self.Answer(connection, std::move(*of));
      });
  // Copies of many bytes: not here.
  environment_.io.Submit(
      [asked = std::move(asked), content = std::move(content), told, is_few, keeps, made] {
        if (!is_few) {
          PutIntoMemory(content, *told);
          made(told);
        }
        if (keeps) Keep(asked, content);
      });
}

void StageObjects::PutIntoMemory(const Content& content, ObjectTold& told) {
  Result<UniqueFd> file = MemoryFile("headrace-object", content.bytes);
  told.status = file.status();
  if (!file.ok()) return;
  told.memory = std::move(file).value();
  told.count = content.bytes.size();
  if (content.is_read) told.hold = content.hold;
}

void StageObjects::Keep(Asked asked, const Content& content) {
  const CacheKey key = KeyOf(asked.request.url, content.version, asked.ask);
  const auto claim = asked.cache->TryClaim(key, content.bytes.size(), asked.found);
  if (claim) claim->Commit(content.bytes);
}

void StageObjects::Answer(std::uint64_t connection, ObjectTold told) {
  --unanswered_;
  if (!closed()) door_->Answer(connection, std::move(told));
}

}  // namespace headrace::dataworker
