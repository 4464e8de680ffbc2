#include "tests/simulation/sim_watches.h"

#include <poll.h>

#include <utility>
#include <vector>

#include "base/check.h"

namespace headrace::simulation {
namespace {

constexpr Duration kLeast = std::chrono::microseconds(1);
constexpr Duration kMost = std::chrono::microseconds(100);

}  // namespace

struct SimWatches::Watched {
  int fd = -1;
  std::shared_ptr<SimProcess> process;
  std::function<void()> on_readable;
  bool told = false;  // it is about to hear
  bool over = false;
};

SimWatches::SimWatches(EventQueue& events, Dice dice) : events_(events), dice_(dice) {
  events_.SetAfterEach([this] {
    if (!watched_.empty()) Look();
  });
}

void SimWatches::Watch(int fd, std::shared_ptr<SimProcess> process,
                       std::function<void()> on_readable) {
  HR_CHECK(numbers_.emplace(fd, ++last_).second);
  auto watched = std::make_shared<Watched>();
  watched->fd = fd;
  watched->process = std::move(process);
  watched->on_readable = std::move(on_readable);
  watched_.emplace(last_, std::move(watched));
}

void SimWatches::Unwatch(int fd) {
  const auto found = numbers_.extract(fd);
  if (!found) return;
  watched_.at(found.mapped())->over = true;
  watched_.erase(found.mapped());
}

void SimWatches::Look() {
  std::vector<pollfd> polled;
  std::vector<std::shared_ptr<Watched>> whose;
  for (const auto& [number, watched] : watched_) {
    if (watched->told || !watched->process->alive()) continue;
    polled.push_back({watched->fd, POLLIN, 0});
    whose.push_back(watched);
  }
  if (::poll(polled.data(), polled.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    whose[i]->told = true;
    events_.After(dice_.Between(kLeast, kMost), [watched = whose[i]] {
      watched->process->Run([watched] {
        watched->told = false;
        if (watched->over) return;
        const std::function<void()> on_readable = watched->on_readable;  // it may end the watch
        on_readable();
      });
    });
  }
}

}  // namespace headrace::simulation
