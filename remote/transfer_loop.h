#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "remote/credential_keeper.h"
#include "remote/endpoint_rules.h"
#include "remote/host_line.h"
#include "remote/object_fetch.h"
#include "remote/options.h"
#include "remote/pace.h"
#include "remote/retry.h"
#include "remote/socket_table.h"
#include "remote/store_lessons.h"
#include "remote/transfer.h"
#include "remote/transfer_job.h"

namespace headrace::remote {

// Has requests made, tried again and given up: what ObjectClient's thread does. One thread.
class TransferLoop {
 public:
  // `receive_buffer`: of its connections, bytes. 0: as the system likes.
  TransferLoop(ClientOptions options, std::uint64_t receive_buffer);
  ~TransferLoop();
  TransferLoop(const TransferLoop&) = delete;
  TransferLoop& operator=(const TransferLoop&) = delete;

  void Begin(std::shared_ptr<ObjectFetch> fetch);
  // Answers all of this owner; nullptr: all.
  void Cancel(const void* owner);
  // Does what can be done now, then waits for the network, a pause or Wake.
  void Turn();
  // Ends the wait of Turn, or the next one. Any thread.
  void Wake();

 private:
  using Part = ObjectFetch::Part;
  using Job = TransferJob;
  // A question for credentials on its way.
  struct Asking {
    EndpointRules rules;
    std::string body;
    std::unique_ptr<Transfer> transfer;  // last: it uses the others
  };

  void TakeParts(const std::shared_ptr<ObjectFetch>& fetch, SteadyTime deadline);
  void Line(Job job);
  // Of the payers with a held transfer that could read nothing begins.
  void StartWaiting(const HeldTransfers& held);
  // How long Turn may wait for the network.
  [[nodiscard]] Duration MostWait(const HeldTransfers& held);
  [[nodiscard]] bool WantsSignature(const Job& job) const;
  // Whether the job may begin now, or waits for credentials.
  Result<bool> ReadyToSign(const Job& job);
  void AskForCredentials();
  void OnCredentials(CURLcode code);
  // kInvalidArgument: the credentials are wrong in themselves.
  Status Start(Job job);
  Result<Transfer::Call> CallOf(Job& job);
  void TakeEnded();
  RunningTransfer TakeRunning(CURL* handle);
  void OnEnded(RunningTransfer ended, CURLcode code);
  void Complete(Outcome& outcome, const Job& job, const ResponseHead& head) const;
  // False: it leads nowhere that we go.
  bool Follow(Job& job, const std::string& target);
  void TryAgain(Job job, const Outcome& outcome, Verdict verdict, const ResponseHead& head);
  // Puts right what a refusal told of, and asks anew.
  void Remedy(Job job, const Outcome& outcome, Verdict verdict, const ResponseHead& head);
  void DropStale();
  [[nodiscard]] double Draw();

  const ClientOptions options_;
  const std::uint64_t receive_buffer_;
  SocketTable sockets_;
  CURLM* const multi_;
  std::map<std::string, HostLine> hosts_;  // by "https://host:port"; none is idle
  RunningTransfers running_;
  std::uint64_t started_ = 0;
  SteadyTime paced_until_ = SteadyTime::max();  // a meter lets something begin
  std::multimap<SteadyTime, Job> paused_;
  std::map<ObjectFetch*, std::shared_ptr<ObjectFetch>> fetches_;  // not answered
  RetryBudget budget_;
  CredentialKeeper keeper_;
  std::unique_ptr<Asking> asking_;  // empty: nobody is asked
  StoreLessons lessons_;
  std::uint64_t drawn_ = 0;
};

}  // namespace headrace::remote
