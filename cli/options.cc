#include "cli/options.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace headrace::cli {
namespace {

constexpr std::string_view kAutoCache = "auto";

// Why processes of stages can't run as this user; empty: they can.
std::string WhyNoStageUser(const std::string& name) {
  const passwd* user = ::getpwnam(name.c_str());
  if (user == nullptr) return "this host has no user " + name;
  if (user->pw_uid == 0) return name + " has the rights of root";
  if (::geteuid() != 0) return "only root may start processes of another user";
  return "";
}

std::map<std::string, dataworker::StageSandbox> Sandboxes() {
  return {{"on", dataworker::StageSandbox::kOn},
          {"required", dataworker::StageSandbox::kRequired},
          {"off", dataworker::StageSandbox::kOff}};
}

}  // namespace

void AddCache(CLI::App& command, std::string& value, const std::string& what) {
  command
      .add_option("--cache", value,
                  what +
                      ", for example 2G; 0 for none, auto for a quarter of the memory that can be "
                      "had now. It gives way when the host needs its memory [default: auto]")
      ->transform(CLI::Validator(
          [](std::string& text) -> std::string {
            if (text == kAutoCache) return "";
            if (std::string wrong = CLI::AsSizeValue(false)(text); !wrong.empty()) return wrong;
            const Status fits = CheckMemoryFits(std::strtoull(text.c_str(), nullptr, 10));
            return fits.ok() ? "" : fits.message();
          },
          ""))
      ->type_name("SIZE");
}

std::uint64_t CacheBytes(const std::string& value) {
  return value.empty() || value == kAutoCache ? UsualCacheBytes()
                                              : std::strtoull(value.c_str(), nullptr, 10);
}

void AddCoordinatorAddress(CLI::App& command, std::string& address) {
  command.add_option("--coordinator", address, "Its address [default: $HEADRACE_COORDINATOR]")
      ->type_name("ADDRESS");
  AddKeys(command);
}

void AddKeys(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--keys",
          [](const std::string& directory) {
            std::error_code failed;
            const auto absolute = std::filesystem::absolute(directory, failed);
            const bool as_it_is = directory.empty() || failed;
            ::setenv("HEADRACE_KEYS", (as_it_is ? directory : absolute.string()).c_str(), 1);
          },
          "Directory of keys, made by `headrace keys` [default: $HEADRACE_KEYS, else none]")
      ->type_name("DIR");
}

void AddQuota(CLI::App& command, Quota& quota) {
  CLI::Option* option = command.add_option(
      std::string(quota.option), quota.most,
      "Most " + std::string(quota.what) + "; beyond it " + std::string(quota.after));
  if (quota.bytes) {
    option->transform(CLI::AsSizeValue(false))->type_name("SIZE");
  } else {
    option->type_name("N");
  }
  option->capture_default_str();
}

void AddInsecure(CLI::App& command, bool& insecure) {
  command.add_flag("--insecure", insecure,
                   "Listen where other hosts reach it, without keys: whoever reaches it can run "
                   "code here and in the training programs");
}

void AddHttp(CLI::App& command, std::string& address, std::string& token_file,
             std::string* admin_file) {
  const std::string page = admin_file != nullptr ? "a page for people, " : "";
  command
      .add_option("--http", address,
                  "Serve " + page +
                      "/metrics for Prometheus, /healthz and /readyz there [default: nowhere]")
      ->type_name("HOST:PORT");
  command
      .add_option("--http-token-file", token_file,
                  "File with a word that each of these requests must bring; wanted where other "
                  "hosts reach the address")
      ->type_name("FILE");
  if (admin_file == nullptr) return;
  command
      .add_option(
          "--http-admin-token-file", *admin_file,
          "File with a word; whoever has it may give orders on the page [default: it is for "
          "reading]")
      ->type_name("FILE");
}

void AddParentPid(CLI::App& command, std::int64_t& pid) {
  command.add_option("--parent-pid", pid, "End when this process ends")->type_name("PID");
}

void AddLimits(CLI::App& command, dataworker::StageRules& stages,
               std::vector<std::string>& allowed_roots,
               std::vector<std::string>& allowed_endpoints) {
  AddSize(command, "--stage-memory", stages.memory_bytes,
          "Most data memory of each Python process that runs a program's own transforms, "
          "for example 4G; Python and torch take about 0.5G of it [default: no limit]");
  command
      .add_option("--stage-user", stages.user,
                  "User of the Python processes that run a program's own code, where root starts "
                  "this; needs the rights to read Python, the packages and the data [default: the "
                  "own user]")
      ->check(WhyNoStageUser)
      ->type_name("NAME");
  command
      .add_option("--stage-sandbox", stages.sandbox,
                  "Confine these processes: no system calls that no loader of data needs, and with "
                  "--allow-root no files but those, Python's and the system's. on: as far as the "
                  "kernel gives it; required: else do not start; off [default: on]")
      ->transform(CLI::CheckedTransformer(Sandboxes()))
      ->type_name("WHAT");
  AddCount(command, "--stage-open-files", stages.open_files,
           "Most files that each of these processes has open; 0: no limit [default: 65536]");
  AddCount(
      command, "--stage-processes", stages.processes,
      "Most processes and threads of them, where --stage-user or --allow-root keeps them apart "
      "from others; 0: no limit [default: 16384]");
  command
      .add_option("--stage-variable", stages.variables,
                  "Environment variable that these processes have of this one, besides those of "
                  "the system, Python and numeric libraries; NAME* for all that begin so; may be "
                  "repeated [default: none]")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command
      .add_option(
          "--allow-root", allowed_roots,
          "Read files below this directory only, links followed, and objects below this base only "
          "(s3://BUCKET/PREFIX); may be repeated. Directories bind a program's own Python code "
          "where the kernel gives it [default: anywhere]")
      ->allow_extra_args(false)
      ->type_name("DIR|URL");
  command
      .add_option("--allow-endpoint", allowed_endpoints,
                  "Read objects from this store even if it is on this host or its network, or "
                  "without TLS, and sign requests to it with this process's AWS credentials; may "
                  "be repeated [default: $HEADRACE_ALLOW_ENDPOINTS, $AWS_ENDPOINT_URL and AWS]")
      ->allow_extra_args(false)
      ->type_name("HOST[:PORT]");
}

std::vector<std::string> LimitWords(const dataworker::StageRules& stages,
                                    const std::vector<std::string>& allowed_roots,
                                    const std::vector<std::string>& allowed_endpoints) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, std::string value) {
    words.emplace_back(name);
    words.push_back(std::move(value));
  };
  if (stages.memory_bytes > 0) add("--stage-memory", std::to_string(stages.memory_bytes));
  if (!stages.user.empty()) add("--stage-user", stages.user);
  for (const auto& [name, sandbox] : Sandboxes()) {
    if (sandbox == stages.sandbox) add("--stage-sandbox", name);
  }
  add("--stage-open-files", std::to_string(stages.open_files));
  add("--stage-processes", std::to_string(stages.processes));
  for (const std::string& name : stages.variables) add("--stage-variable", name);
  for (const std::string& root : allowed_roots) add("--allow-root", root);
  for (const std::string& store : allowed_endpoints) add("--allow-endpoint", store);
  return words;
}

}  // namespace headrace::cli
