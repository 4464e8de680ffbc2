#include "trainer_client/include/headrace/client.h"

#include <utility>

#include "trainer_client/client/client_impl.h"

namespace headrace {

Client::Client(std::unique_ptr<ClientImpl> impl) : impl_(std::move(impl)) {}
// A forked child destroys nothing, because it does not have the parent's threads and locks.
Client::~Client() {
  if (impl_ && impl_->forked()) (void)impl_.release();
}
Result<std::shared_ptr<Client>> Client::Open(const ClientOptions& options) {
  HR_TRY(auto impl, ClientImpl::Open(options));
  return std::shared_ptr<Client>(new Client(std::move(impl)));
}
Result<std::unique_ptr<Session>> Client::OpenSession(Plan plan, std::map<BlobHash, Blob> blobs,
                                                     const SessionOptions& options) {
  return impl_->OpenSession(std::move(plan), std::move(blobs), options);
}
Result<std::vector<WorkerSeen>> Client::Workers() { return impl_->Workers(); }
Result<DataSeen> Client::Data() { return impl_->Data(); }
double Client::ServiceCpuSeconds() const { return impl_->ServiceCpuSeconds(); }
std::string Client::coordinator_endpoint() const { return impl_->endpoint(); }
void Client::Close() { impl_->Close(); }

}  // namespace headrace
