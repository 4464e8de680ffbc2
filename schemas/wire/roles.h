#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/wire/message.h"

// Who may say what. A role is what a peer's key stands for (net/keyring.h). Pure.
namespace headrace::wire {

enum class Role : std::uint8_t {
  kLocal,  // no keys are used: a Unix socket, loopback, or a server that was told --insecure
  kCoordinator,
  kWorker,
  kTrainer,
  kAdmin,
  kObserver,
};

// Those that have a key.
inline constexpr std::array kKeyRoles = {Role::kCoordinator, Role::kWorker, Role::kTrainer,
                                         Role::kAdmin, Role::kObserver};

// "coordinator", "worker", ...
[[nodiscard]] std::string_view RoleName(Role role);
// The role of a key; nullopt: no such role.
[[nodiscard]] std::optional<Role> ParseRole(std::string_view name);

[[nodiscard]] std::string_view MessageName(MessageType type);

// Says whether a peer of this role may send such a message. A message without a rule does not
// compile.
[[nodiscard]] bool MaySend(Role role, MessageType type);

}  // namespace headrace::wire
