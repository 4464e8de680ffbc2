#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/process/allowance.h"
#include "base/quota.h"
#include "dataworker/stage/confine/confinement.h"

// Options that more than one subcommand has.
namespace headrace::cli {

// Adds a number of processes or threads. Value: an integer, or std::string to keep the text as
// given.
template <typename Value>
void AddCount(CLI::App& command, const char* name, Value& value, const char* help) {
  command.add_option(name, value, help)->check(CLI::Range(0, 65536))->type_name("N");
}
// Adds a number of bytes, for example 2G. Value: an integer, or std::string for the bytes as
// digits.
template <typename Value>
void AddSize(CLI::App& command, const char* name, Value& value, const char* help) {
  command.add_option(name, value, help)->transform(CLI::AsSizeValue(false))->type_name("SIZE");
}

// As AddSize, of memory of this host: more than it has, or than its container may use, is refused.
template <typename Value>
void AddMemory(CLI::App& command, const char* name, Value& value, const char* help) {
  AddSize(command, name, value, help);
  command.get_option(name)->check([](const std::string& bytes) -> std::string {
    const Status fits = CheckMemoryFits(std::strtoull(bytes.c_str(), nullptr, 10));
    return fits.ok() ? "" : fits.message();
  });
}

// Adds --cache of memory of this host. The value is the bytes as digits, or "auto": CacheBytes reads it.
void AddCache(CLI::App& command, std::string& value, const std::string& what);
// Looks at what can be had when it is called.
[[nodiscard]] std::uint64_t CacheBytes(const std::string& value);

// Adds --coordinator for a subcommand that needs one. CoordinatorAddress reads it.
void AddCoordinatorAddress(CLI::App& command, std::string& address);
// Adds --threads for a coordinator's local workers.
template <typename Value>
void AddSharedThreads(CLI::App& command, Value& threads) {
  AddCount(command, "--threads", threads,
           "Compute threads of all local workers together [default: usable CPUs]");
}
// Adds --keys for a subcommand that uses TCP: it sets HEADRACE_KEYS for this process and those that
// it starts. KeysDirectory reads it.
void AddKeys(CLI::App& command);
// Adds the quota's option.
void AddQuota(CLI::App& command, Quota& quota);
// Adds --insecure for a server.
void AddInsecure(CLI::App& command, bool& insecure);
// Adds --http and --http-token-file, for web::HttpOptions. With `admin_file`, of a server with a page:
// --http-admin-token-file.
void AddHttp(CLI::App& command, std::string& address, std::string& token_file,
             std::string* admin_file = nullptr);
void AddParentPid(CLI::App& command, std::int64_t& pid);
// Adds --stage-memory and the other limits of Python stages, --allow-root and --allow-endpoint; see
// dataworker::WorkerOptions.
void AddLimits(CLI::App& command, dataworker::StageRules& stages,
               std::vector<std::string>& allowed_roots,
               std::vector<std::string>& allowed_endpoints);
// The words of a worker's command line that say the same.
[[nodiscard]] std::vector<std::string> LimitWords(
    const dataworker::StageRules& stages, const std::vector<std::string>& allowed_roots,
    const std::vector<std::string>& allowed_endpoints);

}  // namespace headrace::cli
