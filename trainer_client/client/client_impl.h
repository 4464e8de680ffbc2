#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schemas/wire/control.h"
#include "trainer_client/client/job_link.h"
#include "trainer_client/client/session_plan.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/service/embedded_coordinator.h"
#include "trainer_client/service/local_worker.h"
#include "trainer_client/session/trainer_session.h"

namespace headrace {

// The trainer's side of a client; see client.h. Thread-safe.
class ClientImpl {
 public:
  static Result<std::unique_ptr<ClientImpl>> Open(const ClientOptions& options);
  ~ClientImpl();

  Result<std::unique_ptr<Session>> OpenSession(Plan plan, std::map<BlobHash, Blob> blobs,
                                               const SessionOptions& options);
  Result<std::vector<WorkerSeen>> Workers();
  Result<DataSeen> Data();
  [[nodiscard]] double ServiceCpuSeconds() const;
  [[nodiscard]] std::string endpoint() const;
  void Close();
  [[nodiscard]] bool forked() const;

 private:
  explicit ClientImpl(const ClientOptions& options) : options_(options) {}
  Status Start();
  Status OpenJob();
  Status KeepService();
  void RestartService();
  Result<wire::ClusterStatus> QueryCluster();
  void WantLocalWorker();
  void KeepLocalWorker();

  ClientOptions options_;
  wire::HostIdentity host_;
  std::shared_ptr<client::Runtime> runtime_;
  std::shared_ptr<client::JobLink> core_;
  client::KnownSizes sizes_;

  mutable std::mutex mutex_;
  std::shared_ptr<client::EmbeddedService> service_;
  std::shared_ptr<client::LocalWorker> local_worker_;  // null: not wanted, or it cannot be started
  double ended_cpu_seconds_ = 0;
  SteadyTime restart_after_{};  // of the private coordinator; guarded by the runtime's call
};

}  // namespace headrace
