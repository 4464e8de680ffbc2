#include "net/reactor.h"

#include <pthread.h>
#include <signal.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "net/reactor_core_internal.h"
#include "net/zap_handler_internal.h"

namespace headrace::net {
namespace {

class SocketHandle final : public Socket {
 public:
  SocketHandle(std::shared_ptr<Core> core, std::shared_ptr<SocketState> state)
      : core_(std::move(core)), state_(std::move(state)) {}
  ~SocketHandle() override {
    if (core_->forked()) return;
    HR_CHECK(core_->MayTouch());
    core_->Remove(*state_);
  }

  Status Send(std::string_view peer, const wire::Body& body,
              std::vector<PayloadFrame> payload) override {
    if (core_->forked()) return Unavailable("a socket does not work in a forked process");
    HR_CHECK(core_->MayTouch());
    if (!state_->zmq) return Unavailable("the reactor has stopped");
    core_->MarkReady(*state_);  // sending may clear the sign that a message has come
    return state_->zmq->Send(peer, body, std::move(payload));
  }

  [[nodiscard]] const std::string& endpoint() const override { return state_->endpoint; }

 private:
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<SocketState> state_;
};

class ReactorImpl final : public Reactor {
 public:
  ReactorImpl(std::string name, std::shared_ptr<Core> core)
      : name_(std::move(name)), core_(std::move(core)) {}
  ~ReactorImpl() override {
    if (core_->forked()) {
      (void)thread_
          .release();  // the thread is not in this process: it can be neither joined nor freed
      return;
    }
    HR_CHECK(!OnThread());
    Stop();
    if (admission_) core_->UnwatchFd(admission_->fd());
  }

  Status Start() override {
    if (core_->forked()) return Unavailable("a reactor does not work in a forked process");
    if (!core_->Enter()) return Unavailable("the reactor has run already");
    // The thread takes no signals, since they belong to the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::make_unique<std::thread>([core = core_, name = name_.substr(0, 15)] {
      pthread_setname_np(pthread_self(), name.c_str());
      core->Loop();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return Status::Ok();
  }

  Status Run() override {
    if (core_->forked()) return Unavailable("a reactor does not work in a forked process");
    if (!core_->Enter()) return Unavailable("the reactor has run already");
    core_->Loop();
    return Status::Ok();
  }

  void Stop() override {
    if (core_->forked()) return;
    core_->RequestStop();
    if (OnThread()) return;
    const std::lock_guard lock(join_mutex_);
    if (thread_ && thread_->joinable()) thread_->join();
    if (core_->Enter()) core_->Finish();  // it never ran
  }

  [[nodiscard]] bool OnThread() const override { return core_->OnThread(); }
  [[nodiscard]] bool guarded() const override { return core_->context()->keys() != nullptr; }

  void Post(std::function<void()> task) override {
    if (!core_->forked()) core_->Post(std::move(task));
  }

  Result<std::unique_ptr<Socket>> BindRouter(const std::string& endpoint,
                                             SocketEvents events) override {
    if (core_->forked()) return Unavailable("a reactor does not work in a forked process");
    // Before the server: libzmq admits everybody while nobody answers for it.
    if (!admission_ && guarded()) {
      HR_TRY(admission_, ZapHandler::Open(core_->context(), core_->clock()));
      core_->WatchFd(admission_->fd(), [admission = admission_.get()] { admission->Serve(); });
    }
    return Adopt(ZmqSocket::Bind(core_->context(), endpoint, events.most_unsent_bytes),
                 std::move(events));
  }

  Result<std::unique_ptr<Socket>> ConnectDealer(const std::string& endpoint,
                                                SocketEvents events) override {
    if (core_->forked()) return Unavailable("a reactor does not work in a forked process");
    const bool watched = static_cast<bool>(events.on_disconnected);
    return Adopt(ZmqSocket::Connect(core_->context(), endpoint, events.server, watched),
                 std::move(events));
  }

  TimerId AddTimer(Duration interval, std::function<void()> callback) override {
    HR_CHECK(core_->MayTouch() && interval > Duration::zero());
    return core_->timers().Add(interval, interval, std::move(callback));
  }
  TimerId AddOnce(Duration delay, std::function<void()> callback) override {
    HR_CHECK(core_->MayTouch());
    return core_->timers().Add(delay, Duration::zero(), std::move(callback));
  }
  void CancelTimer(TimerId timer) override {
    HR_CHECK(core_->MayTouch() || core_->forked());
    core_->timers().Cancel(timer);
  }

  void WatchFd(int fd, std::function<void()> on_readable) override {
    if (core_->forked()) return;  // the epoll set is shared with the parent
    HR_CHECK(core_->MayTouch());
    core_->WatchFd(fd, std::move(on_readable));
  }
  void UnwatchFd(int fd) override {
    if (core_->forked()) return;
    HR_CHECK(core_->MayTouch());
    core_->UnwatchFd(fd);
  }

  [[nodiscard]] Clock& clock() const override { return core_->clock(); }

 private:
  Result<std::unique_ptr<Socket>> Adopt(Result<std::unique_ptr<ZmqSocket>> socket,
                                        SocketEvents events) {
    HR_CHECK(core_->MayTouch());
    HR_TRY(auto state, core_->Add(std::move(socket), std::move(events)));
    return std::unique_ptr<Socket>(std::make_unique<SocketHandle>(core_, std::move(state)));
  }

  const std::string name_;
  const std::shared_ptr<Core> core_;
  std::mutex join_mutex_;
  std::unique_ptr<ZapHandler> admission_;  // with keys, once a server is bound
  std::unique_ptr<std::thread> thread_;
};

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::Make(std::string name, Clock& clock,
                                               std::shared_ptr<Context> context) {
  auto core = std::make_shared<Core>(clock, context ? std::move(context) : MakeContext());
  HR_RETURN_IF_ERROR(core->Open());
  return std::unique_ptr<Reactor>(std::make_unique<ReactorImpl>(std::move(name), std::move(core)));
}

}  // namespace headrace::net
