#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

// What the subcommands that run a Python program have in common.
namespace headrace::cli {

struct LaunchOptions {
  std::string coordinator;
  std::string workers;
  std::string threads;
  std::string cache;
  std::string memory;
  bool remote_only = false;
  bool trust_code = false;
  std::string compare;
  std::string on_difference;
  std::string rng;
  std::string tenant;
  std::string priority;
};

// `worker_count`: with --workers N.
void AddLaunchOptions(CLI::App& command, LaunchOptions& options, bool worker_count = true);

// Puts into this process's environment where the program will look for Headrace. kUnavailable: the
// coordinator does not answer.
[[nodiscard]] Status PrepareLaunch(const LaunchOptions& options);

// Of the environment; empty: not set.
[[nodiscard]] std::string Environment(const char* name);
// Nothing for an empty value.
void SetEnvironment(const char* name, const std::string& value);

// `path` from the root: the program may change its directory. Empty stays empty.
[[nodiscard]] Result<std::string> FromRoot(const std::string& path);

}  // namespace headrace::cli
