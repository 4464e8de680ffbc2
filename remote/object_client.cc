#include "remote/object_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "remote/receive_window.h"
#include "remote/transfer_loop.h"

namespace headrace::remote {

// What the client's thread shares with those who ask.
class ObjectClient::Thread {
 public:
  Thread(const ClientOptions& options, std::uint64_t receive_buffer)
      : options_(options), receive_buffer_(receive_buffer) {}

  void Begin(ObjectRequest request, OnObject on_object) {
    auto fetch = std::make_shared<ObjectFetch>(std::move(request), options_.part_bytes,
                                               std::move(on_object));
    {
      const std::lock_guard lock(mutex_);
      if (!stopped_) {
        inbox_.push_back({std::move(fetch), nullptr});
        if (!loop_) Start();
      }
    }
    if (fetch != nullptr) {
      fetch->Fail(Unavailable("the source was stopped"));
    } else {
      loop_->Wake();
    }
  }
  void Cancel(const void* owner) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_ || !loop_) return;
      inbox_.push_back({nullptr, owner});
    }
    loop_->Wake();
  }
  void Stop() {
    std::thread thread;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      std::swap(thread, thread_);
    }
    if (!thread.joinable()) return;
    loop_->Wake();
    thread.join();
  }

 private:
  struct Message {
    std::shared_ptr<ObjectFetch> fetch;  // to begin
    const void* owner = nullptr;         // or to cancel
  };

  void Start() {
    static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    HR_CHECK(code == CURLE_OK);
    loop_ = std::make_unique<TransferLoop>(options_, receive_buffer_);
    thread_ = std::thread([this] { Run(); });
  }

  void Run() {
    pthread_setname_np(pthread_self(), "hr-objects");
    while (true) {
      std::vector<Message> messages;
      bool stopped = false;
      {
        const std::lock_guard lock(mutex_);
        messages.swap(inbox_);
        stopped = stopped_;
      }
      for (Message& message : messages) {
        if (message.fetch != nullptr) {
          loop_->Begin(std::move(message.fetch));
        } else {
          loop_->Cancel(message.owner);
        }
      }
      if (stopped) break;
      loop_->Turn();
    }
    loop_->Cancel(nullptr);
  }

  const ClientOptions options_;
  const std::uint64_t receive_buffer_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<Message> inbox_;
  std::thread thread_;
  bool stopped_ = false;

  std::unique_ptr<TransferLoop> loop_;  // made once; of the thread, but for Wake
};

ObjectClient::ObjectClient(ClientOptions options) : pid_(::getpid()) {
  threads_.push_back(std::make_unique<Thread>(options, 0));
  for (const std::uint64_t buffer : kReceiveBuffers) {
    threads_.push_back(std::make_unique<Thread>(options, buffer));
  }
}

ObjectClient::~ObjectClient() {
  if (::getpid() != pid_) {
    for (auto& thread : threads_) (void)thread.release();  // they are the parent's
    return;
  }
  Stop();
}

void ObjectClient::Begin(ObjectRequest request, OnObject on_object) {
  if (::getpid() != pid_) {
    ObjectAnswer answer;
    answer.status = Unavailable("the client of objects is another process's");
    on_object(std::move(answer));
    return;
  }
  const std::uint64_t rate = request.meter ? request.meter->Rate() : 0;
  Thread& thread = *threads_[rate == 0 ? 0 : 1 + ReceiveBufferFor(rate)];
  thread.Begin(std::move(request), std::move(on_object));
}

void ObjectClient::Cancel(const void* owner) {
  if (::getpid() != pid_) return;
  for (const auto& thread : threads_) thread->Cancel(owner);
}

void ObjectClient::Stop() {
  if (::getpid() != pid_) return;
  for (const auto& thread : threads_) thread->Stop();
}

}  // namespace headrace::remote
