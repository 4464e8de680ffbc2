#pragma once

#include <string>
#include <string_view>

#include "base/buffer.h"

// Pickles as Python's pickler writes them, for tests.
namespace headrace::client {

inline Bytes PickleBytes(std::string_view content) {
  Bytes bytes{std::byte{0x80}, std::byte{5}};
  for (const char c : content) bytes.push_back(static_cast<std::byte>(c));
  bytes.push_back(std::byte{'.'});
  return bytes;
}

// Of a number below 256.
inline Bytes PickleOf(int number) {
  return PickleBytes(std::string{'K', static_cast<char>(number)});
}
inline int NumberIn(const Bytes& pickle) { return static_cast<int>(pickle.at(3)); }

// A name, as STACK_GLOBAL takes it.
inline std::string NameOps(std::string_view module, std::string_view name) {
  std::string ops;
  for (const std::string_view text : {module, name}) {
    ops += '\x8c';
    ops += static_cast<char>(text.size());
    ops += text;
  }
  return ops + '\x93';
}

// Of what `module.name`(number) returns.
inline Bytes PickleOfCall(std::string_view module, std::string_view name, int number) {
  return PickleBytes(NameOps(module, name) + "K" + static_cast<char>(number) + "\x85R");
}

}  // namespace headrace::client
