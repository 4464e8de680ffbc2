// How close bytes on sockets are to what jobs may read, over each second. A server on this host tells
// what the reader's kernel has acknowledged (TCP_INFO), which is what has crossed the network, whether it
// was read or not. Prints one line of JSON for each case.
//
//   source_rate_bench [SECONDS]    of each case; 10 without it
//
// Each job has a store of its own, so that the server knows whose bytes they are, and always has rows to
// read. "whole rows": rows begin while there is no debt, and are paid for when they are there, as it was
// before connections were paced.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "dataworker/exec/inline_executor.h"
#include "dataworker/share/source_reads.h"
#include "dataworker/source/core/source.h"
#include "remote/object_client.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;

// A store whose objects are as long as their names say.
class Server {
 public:
  Server() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    HR_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    HR_CHECK(::listen(listener_, 128) == 0);
    HR_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    authority_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    threads_.emplace_back([this] { Accept(); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      ::shutdown(listener_, SHUT_RDWR);
      for (const auto& [fd, acked] : open_) ::shutdown(fd, SHUT_RDWR);
    }
    threads_.front().join();
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
    ::close(listener_);
  }
  const std::string& authority() const { return authority_; }
  // Bytes that readers have acknowledged since the server began.
  std::uint64_t Acknowledged() {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = closed_;
    for (const auto& [fd, acked] : open_) sum += AckedOn(fd);
    return sum;
  }

 private:
  static std::uint64_t AckedOn(int fd) {
    tcp_info_with_bytes info{};
    socklen_t size = sizeof(info);
    ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info.bytes_acked;
  }
  // glibc's tcp_info ends before this field of the kernel's.
  struct tcp_info_with_bytes {
    tcp_info known;
    std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
  };

  void Accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      if (stopped_) {
        ::close(fd);
        return;
      }
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      open_[fd] = 0;
      threads_.emplace_back([this, fd] {
        Serve(fd);
        const std::lock_guard closing(mutex_);
        closed_ += AckedOn(fd);
        open_.erase(fd);
        ::close(fd);
      });
    }
  }
  static void Serve(int fd) {
    std::string text;
    const std::vector<char> zeros(1U << 20);
    while (true) {
      std::size_t end = 0;
      while ((end = text.find("\r\n\r\n")) == std::string::npos) {
        char buffer[4096];
        const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
        if (got <= 0) return;
        text.append(buffer, static_cast<std::size_t>(got));
      }
      const std::string head = text.substr(0, end);
      text.erase(0, end + 4);
      const std::size_t name = head.find("/data/") + 6;
      const std::size_t whole = std::strtoul(head.c_str() + name, nullptr, 10);
      std::size_t first = 0, last = whole - 1;
      const std::size_t range = head.find("ange: bytes=");
      if (range != std::string::npos) {
        std::sscanf(head.c_str() + range, "ange: bytes=%zu-%zu", &first, &last);
      }
      std::string answer = range == std::string::npos
                               ? "HTTP/1.1 200 OK\r\n"
                               : "HTTP/1.1 206 Part\r\nContent-Range: bytes " +
                                     std::to_string(first) + "-" + std::to_string(last) + "/" +
                                     std::to_string(whole) + "\r\n";
      answer += "ETag: \"v\"\r\nAccept-Ranges: bytes\r\nContent-Length: " +
                std::to_string(last + 1 - first) + "\r\n\r\n";
      if (::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
      for (std::size_t left = last + 1 - first; left > 0;) {
        const ssize_t sent = ::send(fd, zeros.data(), std::min(left, zeros.size()), MSG_NOSIGNAL);
        if (sent <= 0) return;
        left -= static_cast<std::size_t>(sent);
      }
    }
  }

  int listener_ = -1;
  std::string authority_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::map<int, int> open_;
  std::uint64_t closed_ = 0;
  bool stopped_ = false;
};

// Rows of one size, of a store. Metered or not, as the bench wants.
class Rows final : public Source {
 public:
  Rows(remote::ObjectClient& client, const Server& server, std::size_t bytes, bool metered)
      : client_(client), bytes_(bytes), metered_(metered) {
    const auto store = remote::Store::Make({.base = "http://" + server.authority() + "/data"});
    HR_CHECK(store.ok());
    store_ = std::make_shared<const remote::Store>(*store);
  }
  [[nodiscard]] std::int64_t rows() const override { return 1 << 30; }
  [[nodiscard]] bool cacheable() const override { return false; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask, std::int64_t, ScratchBuffer&) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool is_metered() const override { return metered_; }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    FetchMetered(ask, rows, std::move(sink), nullptr);
  }
  void FetchMetered(Ask, std::span<const std::int64_t> rows, Sink sink,
                    std::shared_ptr<remote::Meter> meter) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      remote::ObjectRequest request{
          .store = store_, .bytes = 1U << 30, .owner = this, .meter = meter};
      request.url = *store_->UrlOf(store_->base() + std::to_string(bytes_));
      client_.Begin(std::move(request), [sink, i](remote::ObjectAnswer came) {
        RowAnswer answer;
        answer.status = std::move(came.status);
        answer.bytes_read = came.received;
        answer.sample.bytes = came.bytes;
        answer.hold = std::move(came.body);
        sink(i, std::move(answer));
      });
    }
  }
  void Stop() override { client_.Cancel(this); }
  [[nodiscard]] const Column* column(std::int32_t) const override { return nullptr; }
  Status CopyColumn(std::int32_t, std::int64_t, MutableByteSpan) const override { return {}; }

 private:
  remote::ObjectClient& client_;
  const std::size_t bytes_;
  const bool metered_;
  std::shared_ptr<const remote::Store> store_;
};

// A thread that calls back after a delay, and lets go of things.
class Alarm {
 public:
  Alarm()
      : thread_([this] {
          std::unique_lock lock(mutex_);
          while (!over_) {
            if (calls_.empty()) {
              changed_.wait(lock);
            } else if (calls_.begin()->first <= Clock::Real().Now()) {
              const auto call = std::move(calls_.extract(calls_.begin()).mapped());
              lock.unlock();
              call();
              lock.lock();
            } else {
              changed_.wait_until(lock, calls_.begin()->first);
            }
          }
        }) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void After(Duration delay, std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      calls_.emplace(Clock::Real().Now() + delay, std::move(call));
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<SteadyTime, std::function<void()>> calls_;
  bool over_ = false;
  std::thread thread_;
};

struct Reader {
  std::uint64_t rate = 0,
                later = 0;  // bytes/s; `later` in the second half of the time, 0: as before
  std::size_t bytes = 0;    // of an object
};

void Measure(const char* name, const std::vector<Reader>& readers, bool metered, int seconds) {
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::string> allowed;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    servers.push_back(std::make_unique<Server>());
    allowed.push_back(servers.back()->authority());
  }
  remote::ClientOptions options;
  options.rules = *remote::EndpointRules::Make(allowed);
  remote::ObjectClient client(std::move(options));
  InlineExecutor executor;
  Alarm alarm;
  WorkQueue queue({executor, Clock::Real(), [](Duration) {}});
  std::shared_ptr<SourceReads> reads;
  reads = std::make_shared<SourceReads>(SourceReads::Parts{
      queue, Clock::Real(), [&](Duration delay) { alarm.After(delay, [&] { reads->Wake(); }); },
      [&](std::shared_ptr<const void> gone) { alarm.After({}, [gone = std::move(gone)] {}); }});
  std::atomic<bool> over = false;
  std::vector<std::shared_ptr<Source>> sources;
  std::function<void(std::size_t)> next = [&](std::size_t i) {
    if (over) return;
    reads->Fetch({JobId(static_cast<std::int64_t>(i) + 1), SessionId(1), IterationId(1)},
                 Ask::kBytes, sources[i], {0},
                 [&, i](std::size_t, RowAnswer) { alarm.After({}, [&, i] { next(i); }); });
  };
  for (std::size_t i = 0; i < readers.size(); ++i) {
    sources.push_back(std::make_shared<Rows>(client, *servers[i], readers[i].bytes, metered));
    queue.SetLimits(JobId(static_cast<std::int64_t>(i) + 1),
                    {.source_bytes_per_second = readers[i].rate});
    for (int open = 0; open < 32; ++open) next(i);
  }
  // What was acknowledged, each 10 ms. The first second is not looked at: nothing is known of the sizes.
  const SteadyTime begin = Clock::Real().Now() + std::chrono::seconds(1);
  const SteadyTime half = begin + std::chrono::milliseconds(500 * seconds);
  std::vector<std::vector<std::pair<double, double>>> seen(readers.size());
  bool changed = false;
  double changed_at = 1e9;
  while (Clock::Real().Now() < begin + std::chrono::seconds(seconds)) {
    std::this_thread::sleep_for(milliseconds(10));
    if (!changed && Clock::Real().Now() >= half) {
      changed = true;
      for (std::size_t i = 0; i < readers.size(); ++i) {
        if (readers[i].later == 0) continue;
        queue.SetLimits(JobId(static_cast<std::int64_t>(i) + 1),
                        {.source_bytes_per_second = readers[i].later});
      }
      changed_at = static_cast<double>((Clock::Real().Now() - begin).count()) * 1e-9;
    }
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const auto acked = static_cast<double>(servers[i]->Acknowledged());
      const SteadyTime now = Clock::Real().Now();
      if (now >= begin) {
        seen[i].emplace_back(static_cast<double>((now - begin).count()) * 1e-9, acked);
      }
    }
  }
  over = true;
  reads->Stop();
  client.Stop();
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const auto& s = seen[i];
    double least = 1e9, most = 0, within = 0, windows = 0;
    for (std::size_t from = 0, to = 0; from < s.size(); ++from) {
      while (to < s.size() && s[to].first < s[from].first + 1) ++to;
      if (to == s.size()) break;
      const auto rate = static_cast<double>(readers[i].rate);
      const double later = readers[i].later > 0 ? static_cast<double>(readers[i].later) : rate;
      const double after = std::clamp(s[to].first - changed_at, 0.0, s[to].first - s[from].first);
      const double allowed_bytes = rate * (s[to].first - s[from].first - after) + later * after;
      const double part = (s[to].second - s[from].second) / allowed_bytes;
      least = std::min(least, part);
      most = std::max(most, part);
      within += part >= 0.98 && part <= 1.02 ? 1 : 0;
      ++windows;
    }
    const double mean = (s.back().second - s.front().second) / (s.back().first - s.front().first);
    std::printf(
        "{\"case\": \"%s\", \"way\": \"%s\", \"object_bytes\": %zu, \"rate\": %llu, \"later\": "
        "%llu, "
        "\"mean_rate\": %.0f, \"least_second\": %.4f, \"most_second\": %.4f, \"within_2_percent\": "
        "%.4f}\n",
        name, metered ? "paced" : "whole rows", readers[i].bytes,
        static_cast<unsigned long long>(readers[i].rate),
        static_cast<unsigned long long>(readers[i].later), mean, least, most,
        within / std::max(windows, 1.0));
    std::fflush(stdout);
  }
}

void Run(int seconds) {
  for (const bool metered : {false, true}) {
    for (const std::size_t bytes :
         {std::size_t{10'000}, std::size_t{100'000}, std::size_t{20'000'000}}) {
      Measure("one job", {{20'000'000, 0, bytes}}, metered, seconds);
      Measure("two jobs", {{15'000'000, 0, bytes}, {5'000'000, 0, bytes}}, metered, seconds);
      Measure("a rate that changes", {{20'000'000, 8'000'000, bytes}}, metered, seconds);
    }
  }
}

}  // namespace
}  // namespace headrace::dataworker

int main(int argc, char** argv) {
  headrace::dataworker::Run(argc > 1 ? std::max(std::atoi(argv[1]), 4) : 10);
}
