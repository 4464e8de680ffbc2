#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/reactor.h"

namespace headrace::coordinator {

// A program that stays beside the coordinator while a pool needs it, because an engine speaks to no
// other. Lines go to its standard input, and come from its standard output. Nothing here waits for it
// but Finish. One thread, the reactor's. What still runs when this is destroyed is killed with all of
// its process group, and nobody is told.
class EngineHelper {
 public:
  struct Events {
    // Without the end of the line. A line of more than 1 MiB ends the program.
    std::function<void(const std::string& line)> on_line;
    // It has ended: kUnavailable, with how, and what it said last on standard error. Called once, and
    // last. This may be destroyed in it.
    std::function<void(const Status& why)> on_end;
  };

  // kNotFound: no such program, or it may not be run. Callbacks never run inside this call.
  static Result<std::unique_ptr<EngineHelper>> Start(net::Reactor& reactor,
                                                     std::vector<std::string> words, Events events);
  EngineHelper(const EngineHelper&) = delete;
  EngineHelper& operator=(const EngineHelper&) = delete;
  ~EngineHelper();

  // What its pipe does not take now is kept, and goes later.
  void Send(std::string_view text);
  // Sends what is left, ends its input, and waits for its end. False: it did not end in time, and was
  // killed. For the end of this process alone: no callback is called any more.
  bool Finish(Duration patience);

 private:
  EngineHelper(net::Reactor& reactor, std::string program, Events events)
      : reactor_(reactor), program_(std::move(program)), events_(std::move(events)) {}

  void Watch();
  void Unwatch();
  void Flush();
  void ReadLines();
  void ReadErrors();
  void OnEnd();

  net::Reactor& reactor_;
  const std::string program_;
  const Events events_;
  ChildProcess child_;
  UniqueFd input_, output_, errors_;  // our ends
  std::string unsent_, unread_, said_;
  std::optional<net::TimerId> again_;
  bool watched_ = false;
  // Whether this still lives, for a callback that may have destroyed it.
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace headrace::coordinator
