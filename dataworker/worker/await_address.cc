#include "dataworker/worker/await_address.h"

#include <poll.h>

#include <array>
#include <chrono>

#include "base/log.h"

namespace headrace::dataworker {

Result<std::optional<std::string>> AwaitAddress(const std::function<Result<std::string>()>& ask,
                                                Duration pause, int stop, int parent) {
  const auto pause_ms =
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(pause).count());
  for (bool said = false;; said = true) {
    Result<std::string> address = ask();
    if (address.ok()) return std::optional(std::move(address).value());
    if (address.status().code() != Code::kUnavailable) return address.status();
    if (!said) {
      LogWarning("this host does not reach its coordinator: " + address.status().message() +
                 "; still trying. Correct --coordinator, or say --listen tcp://ADDRESS:0");
    }
    std::array<pollfd, 2> polls{pollfd{stop, POLLIN, 0}, pollfd{parent, POLLIN, 0}};
    (void)::poll(polls.data(), polls.size(), pause_ms);
    if (polls[0].revents != 0 || polls[1].revents != 0) return std::optional<std::string>();
  }
}

}  // namespace headrace::dataworker
