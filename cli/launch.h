#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

// Code that the subcommands that run a Python program share.
namespace headrace::cli {

struct LaunchOptions {
  std::string coordinator;
  std::string workers;
  std::string threads;
  std::string cache;
  std::string memory;
  bool remote_only = false;
  bool trust_code = false;
  bool no_found_functions = false;
  std::string compare;
  std::string on_difference;
  std::string no_workers;
  std::string on_bad_sample;
  std::string max_bad_samples;
  std::string sample_deadline;
  std::string wire;
  std::string rng;
  std::string tenant;
  std::string priority;
  std::string link;
  std::string rack;
  std::string epochs;
  bool warm = false;
};

// `worker_count`: also adds --workers N.
void AddLaunchOptions(CLI::App& command, LaunchOptions& options, bool worker_count = true);

// Sets the environment variables by which the program finds Headrace. kUnavailable: the coordinator
// does not answer.
[[nodiscard]] Status PrepareLaunch(const LaunchOptions& options);

// A variable of the environment; empty: not set.
[[nodiscard]] std::string Environment(const char* name);
// Does nothing for an empty value.
void SetEnvironment(const char* name, const std::string& value);

// Makes `path` absolute, since the program may change its directory. Empty stays empty.
[[nodiscard]] Result<std::string> FromRoot(const std::string& path);

}  // namespace headrace::cli
