#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "web/http_server.h"

namespace headrace::web {

// What all listeners of a feed are sent at a moment.
struct FeedFrame {
  std::uint64_t number = 0;  // grows by one
  std::string change;        // since the frame before, for those that had that one
};

// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), one of each frame. A
// frame is made once, whoever listens. A listener holds one frame at a time: one that takes longer than the
// next frame needs misses those between, and then gets a whole one. One that takes nothing for 10 s is cut
// off by the server.
//
// Thread-safe. Frames are made on the server's thread, in Read of the listener that is first. Listeners may
// outlive it.
class EventFeed {
 public:
  // Makes the next frame of what was published last. On the server's thread, one call at a time.
  using Next = std::function<FeedFrame()>;
  // All of the last frame, for those that lack the one before. The same.
  using Whole = std::function<std::string()>;

  static constexpr std::size_t kMostListeners = 32;

  EventFeed(Next next, Whole whole, std::size_t most = kMostListeners);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  // There is something new. Any thread; it makes nothing.
  void Publish();
  // A new listener: its first event is a whole frame, or comes with the next Publish. nullptr: there are as many
  // as may be, or it was closed.
  [[nodiscard]] std::unique_ptr<HttpStream> Listen();
  [[nodiscard]] std::size_t listeners() const;
  // Ends all listeners, and waits for a frame that is being made. None is made any more then. Idempotent; not on
  // the server's thread.
  void Close();

 private:
  struct Shared;
  class Listener;
  const std::shared_ptr<Shared> shared_;
};

// "id: 3\nevent: frame\ndata: ...\n\n". REQUIRES: no line break in `data`.
[[nodiscard]] std::string EventText(std::uint64_t id, std::string_view data);

}  // namespace headrace::web
