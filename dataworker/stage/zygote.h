#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/stage_bases.h"
#include "dataworker/stage/stage_hosts.h"
#include "net/reactor.h"

namespace headrace::dataworker {

// The Python process of a session that hosts are forked from. Ends, and its hosts with it, when
// this object goes or the worker dies. Reactor thread.
class Zygote final : public StageHosts {
 public:
  struct Events {
    // Called once: ok, or why the code can't run here (kUnsupported).
    std::function<void(const Status&)> on_ready;
    std::function<void(std::uint64_t host, std::int64_t pid)> on_forked;
    // Called when a host has ended. `how` is a sentence like torch's of its workers.
    std::function<void(std::uint64_t host, const std::string& how)> on_ended;
    // Called once, and last, when the zygote and its hosts have ended. `how`: a sentence.
    std::function<void(const std::string& how)> on_lost;
  };
  // Starts a zygote. `bases` outlives it. `door`: see StageBases::Begin, whose errors it has.
  static Result<std::unique_ptr<Zygote>> Start(net::Reactor& reactor, StageBases& bases,
                                               const StageBases::Options& options,
                                               const BlobContent& bundle, int door, Events events);
  ~Zygote() override;
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Forks a host for any lane. kUnavailable: the zygote has ended, and on_lost will say so.
  Result<std::optional<Begun>> Begin(std::uint64_t host, const Lane& lane) override;
  // False after its end was noticed. on_lost follows when the cause is known.
  [[nodiscard]] bool alive() const override { return watching_; }
  [[nodiscard]] std::int64_t pid() const override { return pid_; }  // 0: not begun, or ended
  [[nodiscard]] bool begins_anew() const override { return true; }

 private:
  Zygote(net::Reactor& reactor, StageBases& bases, FrameSocket control, Events events);
  void OnReadable();
  void OnFrame(const StageFrame& frame);
  void OnHangup();
  void OnEnded(const std::string& how);

  net::Reactor& reactor_;
  StageBases& bases_;
  FrameSocket control_;
  const Events events_;
  std::uint64_t session_ = 0;  // as `bases` calls it; 0: ended
  std::int64_t pid_ = 0;
  bool watching_ = false;
  bool ready_ = false;  // has said so
};

}  // namespace headrace::dataworker
