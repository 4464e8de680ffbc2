#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

// The program `headrace`: one file for each subcommand. An Add function declares the subcommand
// with its help. If the user asked for the subcommand, it stores the action in `chosen`.
namespace headrace::cli {

// Runs after parsing; returns the exit code.
using Action = std::function<int()>;

void AddCoordinator(CLI::App& app, Action& chosen);
void AddWorker(CLI::App& app, Action& chosen);
// `program`: the program to run (program.h cuts it off before parsing).
void AddRun(CLI::App& app, Action& chosen, std::vector<std::string> program);
void AddExplain(CLI::App& app, Action& chosen, std::vector<std::string> program);
void AddVerify(CLI::App& app, Action& chosen, std::vector<std::string> program);
void AddJobs(CLI::App& app, Action& chosen);
void AddWorkers(CLI::App& app, Action& chosen);
void AddPoolsCommand(CLI::App& app, Action& chosen);
void AddCache(CLI::App& app, Action& chosen);
void AddDatasets(CLI::App& app, Action& chosen);
void AddDrain(CLI::App& app, Action& chosen);
void AddTop(CLI::App& app, Action& chosen);
void AddMetrics(CLI::App& app, Action& chosen);
void AddCompletion(CLI::App& app, Action& chosen);
void AddDoctor(CLI::App& app, Action& chosen);
void AddOperators(CLI::App& app, Action& chosen);
void AddManual(CLI::App& app, Action& chosen);
void AddKeysCommand(CLI::App& app, Action& chosen);
void AddAdvise(CLI::App& app, Action& chosen);
void AddSimulate(CLI::App& app, Action& chosen);

// Prints "headrace: MESSAGE" on stderr, one line; returns the exit code 1.
int Fail(const Status& status);

// The value of --coordinator, or else of HEADRACE_COORDINATOR. kInvalidArgument: neither is set, or
// it is not an address ("tcp://HOST:PORT", "ipc://PATH").
[[nodiscard]] Result<std::string> CoordinatorAddress(const std::string& option);
// kInvalidArgument: not an address; the message shows the right form.
[[nodiscard]] Status CheckAddress(const std::string& address);

// The value of HEADRACE_KEYS, if `address` is reached by TCP; else empty.
[[nodiscard]] std::string KeysDirectory(const std::string& address);

// Path of the running program.
[[nodiscard]] Result<std::string> OwnPath();

}  // namespace headrace::cli
