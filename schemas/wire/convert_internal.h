#pragma once

#include "base/graph.h"
#include "schemas/fbs/common_generated.h"
#include "schemas/fbs/control_generated.h"
#include "schemas/fbs/data_generated.h"
#include "schemas/fbs/plan_generated.h"
#include "schemas/wire/control.h"
#include "schemas/wire/data.h"
#include "schemas/wire/reader_internal.h"
#include "schemas/wire/writer_internal.h"

// Plain structs <-> FlatBuffers tables. Write cannot fail. Read reports errors to the Reader and
// goes on. A null table (absent field) reads as a default-made struct.
namespace headrace::wire {

template <typename T>
using Offset = flatbuffers::Offset<T>;

// Pieces (convert_common.cc, convert_plan.cc, convert_session.cc).
Offset<fb::Status> Write(Builder& b, const Status& v);
Status Read(Reader& r, const fb::Status* v);
Code ReadCode(fb::Code code);
Detail ReadDetail(fb::Detail detail);
Offset<fb::HostIdentity> Write(Builder& b, const HostIdentity& v);
HostIdentity Read(Reader& r, const fb::HostIdentity* v);
Offset<fb::Plan> Write(Builder& b, const Plan& v);
Plan Read(Reader& r, const fb::Plan* v);
Offset<fb::Split> Write(Builder& b, const Split& v);
Split Read(Reader& r, const fb::Split* v);
Offset<fb::WorkerInfo> Write(Builder& b, const WorkerInfo& v);
WorkerInfo Read(Reader& r, const fb::WorkerInfo* v);
// Specs of samples, and the sizes that peers of version 1 read in their place (convert_spec.cc).
using Specs = std::vector<std::optional<TensorSpec>>;
VectorOffset<const fb::TensorSpec*> WriteSpecs(Builder& b, const Specs& specs);
Specs ReadSpecs(Reader& r, const flatbuffers::Vector<const fb::TensorSpec*>* specs);
// The size of a uint8 image; nullopt: another tensor, or none.
struct ImageSize {
  std::int32_t height = 0, width = 0, channels = 0;
};
std::optional<ImageSize> ImageSizeOf(const std::optional<TensorSpec>& spec);
TensorSpec SpecOf(const ImageSize& size);
Offset<fb::SessionLoad> Write(Builder& b, const SessionLoad& v);
SessionLoad Read(Reader& r, const fb::SessionLoad* v);
Offset<fb::UnfitWorker> Write(Builder& b, const UnfitWorker& v);
UnfitWorker Read(Reader& r, const fb::UnfitWorker* v);
Offset<fb::BadSample> Write(Builder& b, const BadSample& v);
BadSample Read(Reader& r, const fb::BadSample* v);

template <typename T>
auto WriteAll(Builder& b, const std::vector<T>& items) {
  return WriteTables(b, items, [&b](const T& item) { return Write(b, item); });
}
template <typename Table>
auto ReadAll(Reader& r, const flatbuffers::Vector<Offset<Table>>* tables) {
  std::vector<decltype(Read(r, std::declval<const Table*>()))> out;
  if (tables == nullptr) return out;
  for (const Table* table : *tables) out.push_back(Read(r, table));
  return out;
}

// Lists of cache tiers (convert_tiers.cc).
template <typename Table>
using TierVector = flatbuffers::Vector<Offset<Table>>;
template <typename Table>
using TierTables = Offset<TierVector<Table>>;
TierTables<fb::TierBytes> WriteTiers(Builder& b, const std::vector<TierBytes>& tiers);
TierTables<fb::TierUse> WriteTiers(Builder& b, const std::vector<TierUse>& tiers);
TierTables<fb::TierHits> WriteTiers(Builder& b, const std::vector<TierHits>& tiers);
std::vector<TierBytes> ReadTiers(Reader& r, const TierVector<fb::TierBytes>* tables);
std::vector<TierUse> ReadTiers(Reader& r, const TierVector<fb::TierUse>* tables);
std::vector<TierHits> ReadTiers(Reader& r, const TierVector<fb::TierHits>* tables);

// Control messages (convert_control.cc, convert_status.cc).
Offset<fb::OpenJob> Write(Builder& b, const OpenJob& v);
OpenJob Read(Reader& r, const fb::OpenJob* v);
Offset<fb::JobOpened> Write(Builder& b, const JobOpened& v);
JobOpened Read(Reader& r, const fb::JobOpened* v);
Offset<fb::OpenSession> Write(Builder& b, const OpenSession& v);
OpenSession Read(Reader& r, const fb::OpenSession* v);
Offset<fb::SessionOpened> Write(Builder& b, const SessionOpened& v);
SessionOpened Read(Reader& r, const fb::SessionOpened* v);
Offset<fb::ConsumerHeartbeat> Write(Builder& b, const ConsumerHeartbeat& v);
ConsumerHeartbeat Read(Reader& r, const fb::ConsumerHeartbeat* v);
Offset<fb::Leases> Write(Builder& b, const Leases& v);
Leases Read(Reader& r, const fb::Leases* v);
Offset<fb::CloseSession> Write(Builder& b, const CloseSession& v);
CloseSession Read(Reader& r, const fb::CloseSession* v);
Offset<fb::CloseJob> Write(Builder& b, const CloseJob& v);
CloseJob Read(Reader& r, const fb::CloseJob* v);
Offset<fb::RegisterWorker> Write(Builder& b, const RegisterWorker& v);
RegisterWorker Read(Reader& r, const fb::RegisterWorker* v);
Offset<fb::WorkerRegistered> Write(Builder& b, const WorkerRegistered& v);
WorkerRegistered Read(Reader& r, const fb::WorkerRegistered* v);
Offset<fb::WorkerHeartbeat> Write(Builder& b, const WorkerHeartbeat& v);
WorkerHeartbeat Read(Reader& r, const fb::WorkerHeartbeat* v);
Offset<fb::WorkerStatus> Write(Builder& b, const WorkerStatus& v);
WorkerStatus Read(Reader& r, const fb::WorkerStatus* v);
Offset<fb::WorkerDirective> Write(Builder& b, const WorkerDirective& v);
WorkerDirective Read(Reader& r, const fb::WorkerDirective* v);
Offset<fb::LeaveWorker> Write(Builder& b, const LeaveWorker& v);
LeaveWorker Read(Reader& r, const fb::LeaveWorker* v);
Offset<fb::StatusQuery> Write(Builder& b, const StatusQuery& v);
StatusQuery Read(Reader& r, const fb::StatusQuery* v);
Offset<fb::ClusterStatus> Write(Builder& b, const ClusterStatus& v);
ClusterStatus Read(Reader& r, const fb::ClusterStatus* v);

// Data messages (convert_session.cc, convert_batch.cc, convert_peers.cc).
Offset<fb::Attach> Write(Builder& b, const Attach& v);
Attach Read(Reader& r, const fb::Attach* v);
Offset<fb::Attached> Write(Builder& b, const Attached& v);
Attached Read(Reader& r, const fb::Attached* v);
Offset<fb::BlobPart> Write(Builder& b, const BlobPart& v);
BlobPart Read(Reader& r, const fb::BlobPart* v);
Offset<fb::Detach> Write(Builder& b, const Detach& v);
Detach Read(Reader& r, const fb::Detach* v);
Offset<fb::Describe> Write(Builder& b, const Describe& v);
Describe Read(Reader& r, const fb::Describe* v);
Offset<fb::Described> Write(Builder& b, const Described& v);
Described Read(Reader& r, const fb::Described* v);
Offset<fb::BatchRequest> Write(Builder& b, const BatchRequest& v);
BatchRequest Read(Reader& r, const fb::BatchRequest* v);
Offset<fb::BatchDone> Write(Builder& b, const BatchDone& v);
BatchDone Read(Reader& r, const fb::BatchDone* v);
Offset<fb::CancelIterations> Write(Builder& b, const CancelIterations& v);
CancelIterations Read(Reader& r, const fb::CancelIterations* v);
Offset<fb::PeerFind> Write(Builder& b, const PeerFind& v);
PeerFind Read(Reader& r, const fb::PeerFind* v);
Offset<fb::PeerFound> Write(Builder& b, const PeerFound& v);
PeerFound Read(Reader& r, const fb::PeerFound* v);
Offset<fb::PeerPut> Write(Builder& b, const PeerPut& v);
PeerPut Read(Reader& r, const fb::PeerPut* v);

// What jobs had in all, and jobs that are no more (convert_ended.cc).
Offset<fb::JobTotals> Write(Builder& b, const JobTotals& v);
JobTotals Read(Reader& r, const fb::JobTotals* totals);
Offset<fb::EndedJob> Write(Builder& b, const EndedJob& v);
EndedJob Read(Reader& r, const fb::EndedJob* v);

// What the coordinator decides by, and why (convert_decisions.cc).
Offset<fb::JobNeed> Write(Builder& b, const JobNeed& v);
JobNeed Read(Reader& r, const fb::JobNeed* v);
Offset<fb::GrantReason> Write(Builder& b, const GrantReason& v);
GrantReason Read(Reader& r, const fb::GrantReason* v);
Offset<fb::PolicyRules> Write(Builder& b, const PolicyRules& v);
PolicyRules Read(Reader& r, const fb::PolicyRules* v);

// Where workers come from (convert_pools.cc).
Offset<fb::PoolStatus> Write(Builder& b, const PoolStatus& v);
PoolStatus Read(Reader& r, const fb::PoolStatus* v);

// Orders about jobs and workers (convert_orders.cc).
Offset<fb::ClusterOrder> Write(Builder& b, const ClusterOrder& v);
ClusterOrder Read(Reader& r, const fb::ClusterOrder* v);
Offset<fb::ClusterOrdered> Write(Builder& b, const ClusterOrdered& v);
ClusterOrdered Read(Reader& r, const fb::ClusterOrdered* v);

// Orders about data sets (convert_datasets.cc).
Offset<fb::DatasetOrder> Write(Builder& b, const DatasetOrder& v);
DatasetOrder Read(Reader& r, const fb::DatasetOrder* v);
Offset<fb::DatasetOrdered> Write(Builder& b, const DatasetOrdered& v);
DatasetOrdered Read(Reader& r, const fb::DatasetOrdered* v);
Offset<fb::KeptJob> Write(Builder& b, const KeptJob& v);
KeptJob Read(Reader& r, const fb::KeptJob* v);
Offset<fb::DropOrder> Write(Builder& b, const DropOrder& v);
DropOrder Read(Reader& r, const fb::DropOrder* v);
Offset<fb::FillOrder> Write(Builder& b, const FillOrder& v);
FillOrder Read(Reader& r, const fb::FillOrder* v);
Offset<fb::Ping> Write(Builder& b, const Ping& v);
Ping Read(Reader& r, const fb::Ping* v);
Offset<fb::Pong> Write(Builder& b, const Pong& v);
Pong Read(Reader& r, const fb::Pong* v);

}  // namespace headrace::wire
