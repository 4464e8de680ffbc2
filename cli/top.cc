#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/query.h"
#include "cli/show.h"
#include "cli/signals.h"
#include "net/reactor.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string coordinator;
  bool once = false;
};

// While it lives, keys work without Enter and without echo.
class RawKeys {
 public:
  RawKeys() {
    if (::isatty(STDIN_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &saved_) != 0) return;
    termios raw = saved_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    active_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  RawKeys(const RawKeys&) = delete;
  RawKeys& operator=(const RawKeys&) = delete;
  ~RawKeys() {
    if (active_) ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_);
  }
  [[nodiscard]] bool active() const { return active_; }

 private:
  termios saved_{};
  bool active_ = false;
};

// Clears the screen first, so that a shorter page leaves nothing of the last page.
void Paint(const std::string& page) {
  std::fputs(("\x1b[H\x1b[2J" + page + "\n(refreshed each second; q quits)\n").c_str(), stdout);
  std::fflush(stdout);
}

int Live(const std::string& address) {
  auto signals = StopSignals::Block();
  if (!signals.ok()) return Fail(signals.status());
  auto reactor = MakeQueryReactor("hr-top", address);
  if (!reactor.ok()) return Fail(reactor.status());
  net::Reactor& loop = **reactor;
  std::optional<wire::ClusterStatus> before;
  Status ended;
  auto poller = StatusPoller::Make(loop, address, [&](Result<wire::ClusterStatus> answer) {
    if (!answer.ok()) {
      ended = answer.status();
      loop.Stop();
      return;
    }
    Paint(TopPage(address, *answer, before ? &*before : nullptr));
    before = std::move(answer).value();
  });
  if (!poller.ok()) return Fail(poller.status());
  const RawKeys keys;
  if (keys.active()) {
    loop.WatchFd(STDIN_FILENO, [&] {
      char key = 0;
      const ssize_t got = ::read(STDIN_FILENO, &key, 1);
      if (got <= 0) loop.UnwatchFd(STDIN_FILENO);
      if (got == 1 && (key == 'q' || key == 'Q')) loop.Stop();
    });
  }
  loop.WatchFd(signals->fd(), [&] { loop.Stop(); });
  (*poller)->Ask(kQueryTimeout);
  loop.AddTimer(std::chrono::seconds(1), [&] { (*poller)->Ask(kQueryTimeout); });
  if (Status s = loop.Run(); !s.ok()) return Fail(s);
  return ended.ok() ? 0 : Fail(ended);
}

int Once(const std::string& address) {
  const Result<wire::ClusterStatus> status = QueryStatus(address);
  if (!status.ok()) return Fail(status.status());
  std::fputs(TopPage(address, *status, nullptr).c_str(), stdout);
  return 0;
}

int Top(const Options& options) {
  const Result<std::string> address = CoordinatorAddress(options.coordinator);
  if (!address.ok()) return Fail(address.status());
  return options.once ? Once(*address) : Live(*address);
}

}  // namespace

void AddTop(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("top", "Watch jobs and workers, refreshed each second; q quits");
  AddCoordinatorAddress(*command, options->coordinator);
  command->add_flag("--once", options->once, "Print one page and end");
  command->footer("Example:\n  headrace top --coordinator tcp://head:7070");
  command->callback([&chosen, options] { chosen = [options] { return Top(*options); }; });
}

}  // namespace headrace::cli
