#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "net/reactor.h"

namespace headrace::web {

// Has a reactor's thread tell what only it may read, and waits for it on another thread. Thread-safe. The
// reactor outlives it.
class ReactorQuestions {
 public:
  explicit ReactorQuestions(net::Reactor& reactor) : reactor_(reactor) {}

  // `tell` runs on the reactor's thread, which it keeps from other work meanwhile. nullopt: it did not run within
  // `patience`, or Close was called; it may still run.
  template <typename T>
  std::optional<T> Ask(std::function<T()> tell, std::chrono::milliseconds patience) {
    return AskLater<T>([tell = std::move(tell)](const Answer<T>& answer) { answer(tell()); },
                       patience);
  }

  // The same, of what the reactor does not know at once: `tell` keeps what it is given, and calls it with the
  // answer, once, on any thread.
  template <typename T>
  using Answer = std::function<void(T)>;
  template <typename T>
  std::optional<T> AskLater(std::function<void(const Answer<T>&)> tell,
                            std::chrono::milliseconds patience) {
    struct Question {
      std::optional<T> answer;
    };
    const auto question = std::make_shared<Question>();
    {
      const std::scoped_lock lock(shared_->mutex);
      if (shared_->closed) return std::nullopt;
    }
    reactor_.Post([question, tell = std::move(tell), shared = shared_] {
      {
        const std::scoped_lock lock(shared->mutex);
        if (shared->closed) return;  // what `tell` reads may be gone
      }
      tell([question, shared](T told) {
        const std::scoped_lock lock(shared->mutex);
        question->answer = std::move(told);
        shared->changed.notify_all();
      });
    });
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, patience,
                              [&] { return question->answer.has_value() || shared_->closed; });
    return std::move(question->answer);
  }

  // Nobody waits any more, and nothing is asked from now on. On the reactor's thread, or after it has stopped.
  void Close() {
    const std::scoped_lock lock(shared_->mutex);
    shared_->closed = true;
    shared_->changed.notify_all();
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool closed = false;
  };
  net::Reactor& reactor_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace headrace::web
