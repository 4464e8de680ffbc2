#include "coordinator/pool/kubernetes/pod_feed.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace headrace::coordinator {
namespace {

using Kind = KubeVerdict::Kind;

// A watch that lived so long was no failure.
constexpr Duration kHealthy = std::chrono::seconds(5);
constexpr std::chrono::seconds kListPatience{60};
constexpr int kMostDoublings = 5;

}  // namespace

PodFeed::PodFeed(net::Reactor& reactor, KubeClient& client, const std::string& selector,
                 std::uint64_t seed, Taker taker)
    : reactor_(reactor),
      client_(client),
      url_(client.access().Pods() + "?labelSelector=" + QueryText(selector)),
      seed_(seed),
      taker_(std::move(taker)) {
  After(Duration::zero(), true);
}

PodFeed::~PodFeed() { Drop(); }

void PodFeed::Drop() {
  if (call_) client_.Cancel(*call_);
  if (timer_) reactor_.CancelTimer(*timer_);
  call_.reset();
  timer_.reset();
}

void PodFeed::After(Duration pause, bool list) {
  Drop();
  timer_ = reactor_.AddOnce(pause, [this, list] {
    timer_.reset();
    list ? List() : Watch();
  });
}

void PodFeed::List() {
  Drop();
  taker_.on_begin();
  call_ = client_.Start(
      {.call = {"list", "pods"}, .url = url_, .patience = kListPatience},
      [this](const KubeVerdict& verdict, const std::string& body) { OnList(verdict, body); });
}

void PodFeed::OnList(const KubeVerdict& verdict, const std::string& body) {
  call_.reset();
  Status why = verdict.why;
  if (verdict.kind == Kind::kDone) {
    Result<PodListing> listing = ReadPodList(body);
    if (listing.ok()) {
      version_ = listing->version;
      must_list_ = false;
      Watch();
      return taker_.on_list(listing->pods);
    }
    why = listing.status();
  }
  After(std::max(verdict.pause, NextPause()), true);
  taker_.on_trouble(why);
}

void PodFeed::Watch() {
  Drop();
  lines_ = LineCutter();
  watch_began_ = reactor_.clock().Now();
  const std::string url =
      url_ + "&watch=1&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(kWatch.count()) +
      "&resourceVersion=" + QueryText(version_);
  call_ = client_.Start(
      {.call = {"watch", "pods"},
       .url = url,
       .patience = kWatch + kLate,
       .on_bytes = [this](std::string_view bytes) { OnBytes(bytes); }},
      [this](const KubeVerdict& verdict, const std::string&) { OnWatchEnd(verdict); });
}

void PodFeed::OnBytes(std::string_view bytes) {
  if (must_list_) return;
  must_list_ = !lines_.Add(bytes);
  std::string line;
  while (!must_list_ && lines_.Next(line)) {
    if (!line.empty()) OnEvent(line);
  }
  if (must_list_) After(NextPause(), true);  // whatever it says after that
}

void PodFeed::OnEvent(const std::string& line) {
  const Result<PodEvent> event = ReadPodEvent(line);
  if (!event.ok()) {
    must_list_ = true;
    return taker_.on_trouble(event.status());
  }
  if (!event->version.empty()) version_ = event->version;
  switch (event->kind) {
    case PodEvent::Kind::kSeen:
      failures_ = 0;
      return taker_.on_seen(event->pod);
    case PodEvent::Kind::kGone:
      failures_ = 0;
      return taker_.on_gone(event->pod);
    case PodEvent::Kind::kBookmark:
      failures_ = 0;
      return;
    case PodEvent::Kind::kExpired:
      must_list_ = true;
      return;
    case PodEvent::Kind::kError:
      must_list_ = true;
      return taker_.on_trouble(Unavailable("Kubernetes: watch pods: " + event->message));
  }
}

void PodFeed::OnWatchEnd(const KubeVerdict& verdict) {
  call_.reset();
  if (reactor_.clock().Now() - watch_began_ >= kHealthy) failures_ = 0;
  // The server ends a watch when its time is up, or when it ends itself; a proxy may do so at any time.
  const bool is_end = verdict.kind == Kind::kDone || verdict.kind == Kind::kDoubtful;
  const bool is_away = verdict.kind == Kind::kAgain && !verdict.stranger;
  const Duration pause = is_end && failures_ == 0 ? Duration::zero() : NextPause();
  if (is_end && failures_ == 0) failures_ = 1;
  After(std::max(verdict.pause, pause), !is_end && !is_away);
  if (!is_end && verdict.kind != Kind::kExpired) taker_.on_trouble(verdict.why);
}

// Each in its half of what doubles, so that pools do not ask in step.
Duration PodFeed::NextPause() {
  const Duration longest =
      std::min(kFirstPause * (1 << std::min(failures_, kMostDoublings)), kLongestPause);
  ++failures_;
  const double part = 0.5 + 0.5 * static_cast<double>(MixBits(seed_ + ++drawn_) >> 11) * 0x1p-53;
  return std::chrono::duration_cast<Duration>(longest * part);
}

}  // namespace headrace::coordinator
