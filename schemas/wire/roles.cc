#include "schemas/wire/roles.h"

namespace headrace::wire {
namespace {

struct Rule {
  std::string_view name;
  bool coordinator;
  bool worker;
  bool trainer;
  bool admin;
  bool observer;
};

// Senders of answers are servers. An admin may ask for everything, and answers nothing.
constexpr Rule FromCoordinator(std::string_view name) {
  return {name, true, false, false, false, false};
}
constexpr Rule FromWorker(std::string_view name) {
  return {name, false, true, false, false, false};
}
constexpr Rule AskedByWorker(std::string_view name) {
  return {name, false, true, false, true, false};
}
constexpr Rule AskedByTrainer(std::string_view name) {
  return {name, false, false, true, true, false};
}

// Every message has its case; a switch without default is an error when one is missing.
constexpr Rule RuleOf(MessageType type) {
  switch (type) {
    case MessageType::kUnknown:  // of a newer peer: a sign of life and no more
      return {"Unknown", true, true, true, true, true};
    case MessageType::kOpenJob:
      return AskedByTrainer("OpenJob");
    case MessageType::kJobOpened:
      return FromCoordinator("JobOpened");
    case MessageType::kOpenSession:
      return AskedByTrainer("OpenSession");
    case MessageType::kSessionOpened:
      return FromCoordinator("SessionOpened");
    case MessageType::kConsumerHeartbeat:
      return AskedByTrainer("ConsumerHeartbeat");
    case MessageType::kLeases:
      return FromCoordinator("Leases");
    case MessageType::kCloseSession:
      return AskedByTrainer("CloseSession");
    case MessageType::kCloseJob:
      return AskedByTrainer("CloseJob");
    case MessageType::kRegisterWorker:
      return AskedByWorker("RegisterWorker");
    case MessageType::kWorkerRegistered:
      return FromCoordinator("WorkerRegistered");
    case MessageType::kWorkerHeartbeat:
      return AskedByWorker("WorkerHeartbeat");
    case MessageType::kWorkerDirective:
      return FromCoordinator("WorkerDirective");
    case MessageType::kLeaveWorker:
      return AskedByWorker("LeaveWorker");
    case MessageType::kStatusQuery:  // a trainer looks for the workers of its job
      return {"StatusQuery", false, false, true, true, true};
    case MessageType::kClusterStatus:
      return FromCoordinator("ClusterStatus");
    case MessageType::kAttach:
      return AskedByTrainer("Attach");
    case MessageType::kAttached:
      return FromWorker("Attached");
    case MessageType::kBlobPart:
      return AskedByTrainer("BlobPart");
    case MessageType::kDetach:
      return AskedByTrainer("Detach");
    case MessageType::kDescribe:
      return AskedByTrainer("Describe");
    case MessageType::kDescribed:
      return FromWorker("Described");
    case MessageType::kBatchRequest:
      return AskedByTrainer("BatchRequest");
    case MessageType::kBatchDone:
      return FromWorker("BatchDone");
    case MessageType::kCancelIterations:
      return AskedByTrainer("CancelIterations");
    case MessageType::kPeerFind:  // nobody else puts bytes into a cache, or reads them there
      return FromWorker("PeerFind");
    case MessageType::kPeerFound:
      return FromWorker("PeerFound");
    case MessageType::kPeerPut:
      return FromWorker("PeerPut");
    case MessageType::kDatasetOrder:  // it concerns all tenants
      return {"DatasetOrder", false, false, false, true, false};
    case MessageType::kDatasetOrdered:
      return FromCoordinator("DatasetOrdered");
    case MessageType::kClusterOrder:
      return {"ClusterOrder", false, false, false, true, false};
    case MessageType::kClusterOrdered:
      return FromCoordinator("ClusterOrdered");
    case MessageType::kPing:  // either side asks
      return {"Ping", true, true, true, true, false};
    case MessageType::kPong:
      return {"Pong", true, true, true, true, false};
  }
  return {"?", false, false, false, false, false};
}

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kLocal:
      return "local";
    case Role::kCoordinator:
      return "coordinator";
    case Role::kWorker:
      return "worker";
    case Role::kTrainer:
      return "trainer";
    case Role::kAdmin:
      return "admin";
    case Role::kObserver:
      return "observer";
  }
  return "?";
}

std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role : kKeyRoles) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

std::string_view MessageName(MessageType type) { return RuleOf(type).name; }

bool MaySend(Role role, MessageType type) {
  const Rule rule = RuleOf(type);
  switch (role) {
    case Role::kLocal:
      return true;
    case Role::kCoordinator:
      return rule.coordinator;
    case Role::kWorker:
      return rule.worker;
    case Role::kTrainer:
      return rule.trainer;
    case Role::kAdmin:
      return rule.admin;
    case Role::kObserver:
      return rule.observer;
  }
  return false;
}

}  // namespace headrace::wire
