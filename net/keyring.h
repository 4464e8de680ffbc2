#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "net/reactor.h"
#include "schemas/wire/roles.h"

// Keys of a cluster: a directory with
//
//   allow         who is admitted: lines "ROLE PUBLIC-KEY"; lines that begin with # are remarks
//   ROLE.key      the secret key of a role: "PUBLIC-KEY SECRET-KEY"
//
// in Z85, of ZeroMQ's CURVE (Curve25519). WriteKeys gives the directory mode 0700, the files 0600.
// Others may see names and `allow`, and root may own all of it, as in a mounted secret. What others
// could change, and keys that they could read, are refused. Links are followed. A host needs
// `allow` and the key of what runs there. Clients take the first "coordinator" and the first
// "worker" of `allow` for the servers' keys: a server with another key is not talked to.
namespace headrace::net {

// Makes the directory and the keys of all roles. kInvalidArgument: there are keys already, or others
// may enter the directory. kUnsupported: libzmq has no CURVE.
[[nodiscard]] Status WriteKeys(const std::string& directory);

// Own keys, and who is admitted. Thread-safe.
class Keyring {
 public:
  // Takes the key of the first of `roles` whose file is there. kNotFound: none is. kInvalidArgument:
  // others may read or change what they must not, or the files are damaged; the message names the file.
  // kUnsupported: libzmq has no CURVE.
  static Result<std::shared_ptr<Keyring>> Open(const std::string& directory,
                                               std::initializer_list<wire::Role> roles);

  [[nodiscard]] wire::Role role() const { return role_; }
  [[nodiscard]] const std::string& public_key() const { return public_key_; }
  [[nodiscard]] const std::string& secret_key() const { return secret_key_; }
  // The key that a server of this role must have; empty: `allow` names none.
  [[nodiscard]] std::string ServerKey(wire::Role server);
  // The role of an admitted key; nullopt: not admitted. Reads `allow` again when it has changed; a
  // file that can't be read then admits nobody.
  [[nodiscard]] std::optional<wire::Role> Admitted(std::string_view public_key);

 private:
  struct Allowed {
    std::map<std::string, wire::Role, std::less<>> roles;  // by public key
    std::map<wire::Role, std::string> first;
  };
  Keyring(std::string directory, wire::Role role) : directory_(std::move(directory)), role_(role) {}
  static Result<Allowed> ReadAllowed(const std::string& path);
  void Refresh();

  const std::string directory_;
  const wire::Role role_;
  std::string public_key_;
  std::string secret_key_;
  std::mutex mutex_;  // guards what follows
  Allowed allowed_;
  std::string stamp_;  // identity of the file that was read
};

// A reactor whose TCP sockets use the keys of `directory`; an empty one: no keys.
[[nodiscard]] Result<std::unique_ptr<Reactor>> MakeKeyedReactor(
    std::string name, const std::string& directory, std::initializer_list<wire::Role> roles);

}  // namespace headrace::net
