#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
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
#include "cli/top_screen.h"
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

// The terminal's other screen, while it lives: what was on the screen before is there again at the end.
class OtherScreen {
 public:
  OtherScreen() : active_(::isatty(STDOUT_FILENO) != 0) {
    if (active_) Write("\x1b[?1049h\x1b[?25l");
  }
  OtherScreen(const OtherScreen&) = delete;
  OtherScreen& operator=(const OtherScreen&) = delete;
  ~OtherScreen() {
    if (active_) Write("\x1b[?25h\x1b[?1049l");
  }
  [[nodiscard]] bool active() const { return active_; }

  // Line by line over what is there, so that nothing flickers.
  static void Paint(std::string page) {
    for (std::size_t at = 0; (at = page.find('\n', at)) != std::string::npos; at += 5) {
      page.replace(at, 1, "\x1b[K\r\n");
    }
    Write("\x1b[H" + page + "\x1b[K\x1b[J");
  }
  [[nodiscard]] static TopScreen::Size Size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
      return {};
    }
    return {size.ws_col, size.ws_row};
  }

 private:
  static void Write(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }
  const bool active_;
};

int Live(const std::string& address) {
  auto signals = StopSignals::Block();
  if (!signals.ok()) return Fail(signals.status());
  auto reactor = MakeQueryReactor("hr-top", address);
  if (!reactor.ok()) return Fail(reactor.status());
  net::Reactor& loop = **reactor;
  std::optional<wire::ClusterStatus> before, now;
  Status ended;
  TopScreen screen;
  std::optional<OtherScreen> terminal(std::in_place);
  const auto paint = [&] {
    if (!now) return;
    const wire::ClusterStatus* const old = before ? &*before : nullptr;
    if (terminal->active()) {
      OtherScreen::Paint(screen.Paint(address, *now, old, OtherScreen::Size()));
    } else {
      std::fputs((TopPage(address, *now, old) + "\n").c_str(), stdout);
      std::fflush(stdout);
    }
  };
  auto poller = StatusPoller::Make(loop, address, [&](Result<wire::ClusterStatus> answer) {
    if (!answer.ok()) {
      ended = answer.status();
      loop.Stop();
      return;
    }
    before = std::move(now);
    now = std::move(answer).value();
    paint();
  });
  if (!poller.ok()) {
    terminal.reset();
    return Fail(poller.status());
  }
  const RawKeys keys;
  if (keys.active()) {
    loop.WatchFd(STDIN_FILENO, [&] {
      std::array<char, 64> typed{};
      const ssize_t got = ::read(STDIN_FILENO, typed.data(), typed.size());
      if (got <= 0) loop.UnwatchFd(STDIN_FILENO);
      for (const char key :
           KeysIn({typed.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))})) {
        if (!screen.Key(key)) return loop.Stop();
      }
      paint();
    });
  }
  loop.WatchFd(signals->fd(), [&] { loop.Stop(); });
  (*poller)->Ask(kQueryTimeout);
  loop.AddTimer(std::chrono::seconds(1), [&] { (*poller)->Ask(kQueryTimeout); });
  const Status ran = loop.Run();
  terminal.reset();  // an error is said on the screen that stays
  if (!ran.ok()) return Fail(ran);
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
  CLI::App* command = app.add_subcommand("top",
                                         "Watch jobs and workers, refreshed each second; q quits, "
                                         "and its last line names the other keys");
  AddCoordinatorAddress(*command, options->coordinator);
  command->add_flag("--once", options->once, "Print one page and end");
  command->footer("Example:\n  headrace top --coordinator tcp://head:7070");
  command->callback([&chosen, options] { chosen = [options] { return Top(*options); }; });
}

}  // namespace headrace::cli
