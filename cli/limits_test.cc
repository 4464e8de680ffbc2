// The page of limits says what the code does.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/quota.h"
#include "coordinator/quotas.h"
#include "dataworker/worker/worker_main.h"

namespace headrace::cli {
namespace {

std::string Value(const Quota& quota) {
  std::uint64_t value = quota.most;
  if (!quota.bytes) return std::to_string(value);
  std::size_t unit = 0;
  for (; value >= 1024 && value % 1024 == 0 && unit < 3; value /= 1024) ++unit;
  const std::string units[] = {"", " KiB", " MiB", " GiB"};
  return std::to_string(value) + units[unit];
}

template <typename Quotas>
std::string Table(Quotas quotas) {
  std::string table = "| option | bounds | default | beyond it |\n|---|---|---|---|\n";
  for (const Quota* quota : quotas.All()) {
    table += "| `" + std::string(quota->option) + "` | " + std::string(quota->what) + " | " +
             Value(*quota) + " | " + std::string(quota->after) + " |\n";
  }
  return table;
}

TEST(LimitsPage, HasTheQuotasOfCoordinatorAndWorker) {
  std::ostringstream page;
  page << std::ifstream(std::string(HEADRACE_SOURCE_DIR) + "/docs/reference/limits.md").rdbuf();
  for (const std::string& table :
       {Table(coordinator::Quotas()), Table(dataworker::WorkerOptions().quotas)}) {
    EXPECT_NE(page.str().find("\n\n" + table + "\n"), std::string::npos)
        << "docs/reference/limits.md has not:\n"
        << table;
  }
}

}  // namespace
}  // namespace headrace::cli
