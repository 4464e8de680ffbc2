#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/query.h"
#include "web/metrics_text.h"

namespace headrace::cli {
namespace {

int Metrics(const std::string& option) {
  const Result<std::string> address = CoordinatorAddress(option);
  if (!address.ok()) return Fail(address.status());
  const Result<wire::ClusterStatus> status = QueryStatus(*address);
  if (!status.ok()) return Fail(status.status());
  std::fputs(web::MetricsText(*status).c_str(), stdout);
  return 0;
}

}  // namespace

void AddMetrics(CLI::App& app, Action& chosen) {
  auto address = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "metrics", "All numbers of jobs and workers, once, in Prometheus' text format");
  AddCoordinatorAddress(*command, *address);
  command->footer(
      "Example, each 15 s, for the textfile collector of Prometheus' node_exporter:\n"
      "  headrace metrics --coordinator tcp://head:7070 > headrace.tmp\n"
      "  mv headrace.tmp /var/lib/node_exporter/headrace.prom");
  command->callback([&chosen, address] { chosen = [address] { return Metrics(*address); }; });
}

}  // namespace headrace::cli
