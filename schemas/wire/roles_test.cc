#include "schemas/wire/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace headrace::wire {
namespace {

// Who may send what. A message that is not here fails EveryMessageHasItsRoles.
const std::map<std::string_view, std::set<Role>>& Table() {
  using enum Role;
  static const std::map<std::string_view, std::set<Role>> table = {
      {"Unknown", {kCoordinator, kWorker, kTrainer, kAdmin, kObserver}},
      {"OpenJob", {kTrainer, kAdmin}},
      {"JobOpened", {kCoordinator}},
      {"OpenSession", {kTrainer, kAdmin}},
      {"SessionOpened", {kCoordinator}},
      {"ConsumerHeartbeat", {kTrainer, kAdmin}},
      {"Leases", {kCoordinator}},
      {"CloseSession", {kTrainer, kAdmin}},
      {"CloseJob", {kTrainer, kAdmin}},
      {"RegisterWorker", {kWorker, kAdmin}},
      {"WorkerRegistered", {kCoordinator}},
      {"WorkerHeartbeat", {kWorker, kAdmin}},
      {"WorkerDirective", {kCoordinator}},
      {"LeaveWorker", {kWorker, kAdmin}},
      {"StatusQuery", {kTrainer, kAdmin, kObserver}},
      {"ClusterStatus", {kCoordinator}},
      {"Attach", {kTrainer, kAdmin}},
      {"Attached", {kWorker}},
      {"BlobPart", {kTrainer, kAdmin}},
      {"Detach", {kTrainer, kAdmin}},
      {"Describe", {kTrainer, kAdmin}},
      {"Described", {kWorker}},
      {"BatchRequest", {kTrainer, kAdmin}},
      {"BatchDone", {kWorker}},
      {"CancelIterations", {kTrainer, kAdmin}},
      {"PeerFind", {kWorker}},
      {"PeerFound", {kWorker}},
      {"PeerPut", {kWorker}},
      {"DatasetOrder", {kAdmin}},
      {"DatasetOrdered", {kCoordinator}},
      {"ClusterOrder", {kAdmin}},
      {"ClusterOrdered", {kCoordinator}},
      {"Ping", {kCoordinator, kWorker, kTrainer, kAdmin}},
      {"Pong", {kCoordinator, kWorker, kTrainer, kAdmin}},
  };
  return table;
}

template <std::size_t... I>
std::vector<MessageType> TypesOf(std::index_sequence<I...>) {
  return {TypeOf(Body(std::in_place_index<I>))...};
}

// Of the variant itself, so a new message is among them.
std::vector<MessageType> AllTypes() {
  return TypesOf(std::make_index_sequence<std::variant_size_v<Body>>());
}

TEST(Roles, EveryMessageHasItsRoles) {
  std::set<std::string_view> seen;
  for (const MessageType type : AllTypes()) {
    const std::string_view name = MessageName(type);
    ASSERT_TRUE(Table().contains(name)) << name;
    EXPECT_TRUE(seen.insert(name).second) << name;
    for (const Role role : kKeyRoles) {
      EXPECT_EQ(MaySend(role, type), Table().at(name).contains(role))
          << RoleName(role) << " " << name;
    }
    EXPECT_TRUE(MaySend(Role::kLocal, type));
  }
  EXPECT_EQ(seen.size(), Table().size());
}

TEST(Roles, NamesAreReadBack) {
  for (const Role role : kKeyRoles) EXPECT_EQ(ParseRole(RoleName(role)), role);
  for (const char* name : {"", "local", "root", "Admin", "?"})
    EXPECT_FALSE(ParseRole(name)) << name;
}

}  // namespace
}  // namespace headrace::wire
