#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "coordinator/test_tokens.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"

namespace headrace::coordinator {

// A client or worker for tests: one DEALER on a running reactor, used from the test's thread.
class TestPeer {
 public:
  TestPeer(net::Reactor& reactor, const std::string& address) : reactor_(reactor) {
    OnReactor([&] {
      auto made = reactor_.ConnectDealer(
          address, {[inbox = inbox_](net::Incoming&& m) { inbox->Put(std::move(m.body)); },
                    [](const std::string&, const Status&) {}});
      socket_ = std::move(made).value();
    });
  }
  TestPeer(const TestPeer&) = delete;
  TestPeer& operator=(const TestPeer&) = delete;
  ~TestPeer() {
    OnReactor([&] { socket_.reset(); });
  }

  void Send(wire::Body body) {
    body = speak_(std::move(body));
    OnReactor([&] {
      if (Status s = socket_->Send("", body); !s.ok()) throw std::runtime_error(s.ToString());
    });
  }
  // Returns the next T that comes within 10 s. Messages of other types stay in the inbox.
  template <typename T>
  T Await() {
    return inbox_->Take<T>([](const T&) { return true; });
  }
  // Sends a request and waits for the T with its number.
  template <typename T, typename Request>
  T Ask(const Request& request) {
    Send(request);
    return inbox_->Take<T>([&](const T& reply) { return reply.request == request.request; });
  }

 private:
  struct Inbox {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<wire::Body> bodies;

    void Put(wire::Body body) {
      {
        const std::lock_guard lock(mutex);
        bodies.push_back(std::move(body));
      }
      wake.notify_all();
    }
    template <typename T, typename Match>
    T Take(Match match) {
      std::unique_lock lock(mutex);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      for (;;) {
        for (auto it = bodies.begin(); it != bodies.end(); ++it) {
          if (auto* body = std::get_if<T>(&*it); body && match(*body)) {
            T taken = std::move(*body);
            bodies.erase(it);
            return taken;
          }
        }
        if (wake.wait_until(lock, deadline) == std::cv_status::timeout) {
          throw std::runtime_error("no such message within 10 s");
        }
      }
    }
  };

  template <typename F>
  void OnReactor(F f) {
    std::packaged_task<void()> task(std::move(f));
    auto done = task.get_future();
    reactor_.Post([&task] { task(); });
    done.get();
  }

  Speaker speak_;
  net::Reactor& reactor_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::unique_ptr<net::Socket> socket_;
};

}  // namespace headrace::coordinator
