#include "web/event_feed.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace headrace::web {

using Text = std::shared_ptr<const std::string>;

struct EventFeed::Shared {
  // Of the server's thread, or guarded while `making` is false.
  Next next;
  Whole whole;
  std::size_t most = 0;

  std::mutex mutex;
  std::condition_variable made;
  bool closed = false;
  bool fresh = false;             // something was published since the last frame was made
  bool making = false;            // a frame, without the mutex
  std::uint64_t number = 0;       // of the last frame; 0: none was made
  Text change, all;               // its events; `all` is made when it is wanted
  std::set<Listener*> listeners;  // paused or not
};

// One connection.
class EventFeed::Listener final : public HttpStream {
 public:
  explicit Listener(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~Listener() override {
    const std::scoped_lock lock(shared_->mutex);
    shared_->listeners.erase(this);
  }

  std::optional<std::size_t> Read(HttpConnection& connection, std::span<char> into) override {
    if (!event_ || at_ == event_->size()) {
      event_.reset();
      if (!Take(connection)) return std::nullopt;
      if (!event_) return 0;
    }
    const std::size_t count = std::min(into.size(), event_->size() - at_);
    std::memcpy(into.data(), event_->data() + at_, count);
    at_ += count;
    return count;
  }

  // With the mutex held.
  void Wake() {
    if (HttpConnection* const paused = std::exchange(paused_, nullptr)) paused->Resume();
  }

 private:
  // The next event, or a pause. False: the feed is closed.
  bool Take(HttpConnection& connection) {
    std::unique_lock lock(shared_->mutex);
    if (shared_->fresh && !shared_->closed) MakeNext(lock);
    if (shared_->closed) return false;
    at_ = 0;
    if (shared_->number == seen_) {
      paused_ = &connection;
      connection.Pause();  // with the mutex: a Resume must come later
      return true;
    }
    if (shared_->number == seen_ + 1 && seen_ > 0) {
      event_ = shared_->change;
    } else {
      if (!shared_->all) MakeAll(lock);
      event_ = shared_->all;
    }
    seen_ = shared_->number;
    return true;
  }

  // Frames take milliseconds: who publishes meanwhile does not wait.
  void MakeNext(std::unique_lock<std::mutex>& lock) {
    shared_->fresh = false;
    shared_->making = true;
    lock.unlock();
    FeedFrame frame = shared_->next();
    auto change = std::make_shared<const std::string>(EventText(frame.number, frame.change));
    lock.lock();
    shared_->making = false;
    shared_->made.notify_all();
    shared_->number = frame.number;
    shared_->change = std::move(change);
    shared_->all.reset();
  }
  void MakeAll(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t number = shared_->number;
    shared_->making = true;
    lock.unlock();
    auto all = std::make_shared<const std::string>(EventText(number, shared_->whole()));
    lock.lock();
    shared_->making = false;
    shared_->made.notify_all();
    shared_->all = std::move(all);
  }

  const std::shared_ptr<Shared> shared_;
  std::uint64_t seen_ = 0;  // the last frame that it was given
  Text event_;              // what is being sent
  std::size_t at_ = 0;
  HttpConnection* paused_ = nullptr;
};

EventFeed::EventFeed(Next next, Whole whole, std::size_t most)
    : shared_(std::make_shared<Shared>()) {
  shared_->next = std::move(next);
  shared_->whole = std::move(whole);
  shared_->most = most;
}

EventFeed::~EventFeed() { Close(); }

void EventFeed::Publish() {
  const std::scoped_lock lock(shared_->mutex);
  shared_->fresh = true;
  for (Listener* const each : shared_->listeners) each->Wake();
}

std::unique_ptr<HttpStream> EventFeed::Listen() {
  auto listener = std::make_unique<Listener>(shared_);
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->closed || shared_->listeners.size() >= shared_->most) return nullptr;
  shared_->listeners.insert(listener.get());
  return listener;
}

std::size_t EventFeed::listeners() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->listeners.size();
}

void EventFeed::Close() {
  std::unique_lock lock(shared_->mutex);
  shared_->closed = true;
  for (Listener* const each : shared_->listeners) each->Wake();
  shared_->made.wait(lock, [&] { return !shared_->making; });
}

std::string EventText(std::uint64_t id, std::string_view data) {
  std::string text = "id: " + std::to_string(id) + "\nevent: frame\ndata: ";
  text += data;
  return text += "\n\n";
}

}  // namespace headrace::web
