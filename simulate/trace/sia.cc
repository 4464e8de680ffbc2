#include <algorithm>
#include <array>

#include "simulate/trace/csv.h"
#include "simulate/trace/fields.h"
#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

// GPU-hours of an application, for workload files without a duration. It is the middle, on a log
// scale, of the class in which Pollux (Qiao et al., OSDI 2021) puts it: 0-1, 1-10, 10-100,
// 100-1000.
struct Application {
  std::string_view name;
  double gpu_hours;
};
constexpr std::array kApplications = {
    Application{"cifar10", 0.3},   Application{"ncf", 0.3},   Application{"bert", 3},
    Application{"deepspeech2", 3}, Application{"yolov3", 30}, Application{"imagenet", 300},
};
constexpr double kOtherGpuHours = 3;

// Workloads of Sia (Subramanya et al., SOSP 2023) and Pollux: name, time (s), application,
// num_replicas, batch_size (of all replicas).
class Sia final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "sia"; }
  [[nodiscard]] bool Detect(std::string_view first_line) const override {
    return first_line.find("application") != std::string_view::npos &&
           first_line.find("num_replicas") != std::string_view::npos;
  }
  [[nodiscard]] Result<std::vector<Record>> Read(const Input& input) const override {
    const Table table(input.file, input.text, ',', true);
    HR_RETURN_IF_ERROR(table.Require({"name", "time", "application", "num_replicas"}));
    HR_TRY(const auto rows, table.Rows());
    std::vector<Record> records;
    for (const Row& row : rows) {
      HR_TRY(Record record, Begin(input, row, std::string_view("num_replicas"), "num_replicas"));
      record.id = row.Text("name");
      record.model = row.Text("application");
      if (record.model.empty()) return row.Wrong("application", "a name", "");
      HR_TRY(record.arrival_s, row.Number("time", 0, kMostSeconds));
      HR_TRY(const auto batch, row.Optional("batch_size", 1, kMostCount));
      if (batch) record.batch = *batch / record.gpus;
      HR_TRY(record.duration_s, row.Optional("duration", kLeastSeconds, kMostSeconds));
      if (!record.duration_s) {
        const auto* const known =
            std::find_if(kApplications.begin(), kApplications.end(),
                         [&](const Application& each) { return each.name == record.model; });
        const double hours = known == kApplications.end() ? kOtherGpuHours : known->gpu_hours;
        record.duration_s = hours * 3600 / record.gpus;
      }
      records.push_back(std::move(record));
    }
    return records;
  }
};

// Jobs of Microsoft's Philly clusters as Sia tabulates them: timestamp (s), duration (s), num_gpus.
// The model of a job is unknown, so it is drawn (DrawModel).
class Philly final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "philly"; }
  [[nodiscard]] bool Detect(std::string_view first_line) const override {
    for (const std::string_view column : {"timestamp", "duration", "num_gpus"}) {
      if (first_line.find(column) == std::string_view::npos) return false;
    }
    return true;
  }
  [[nodiscard]] Result<std::vector<Record>> Read(const Input& input) const override {
    const Table table(input.file, input.text, ',', true);
    HR_RETURN_IF_ERROR(table.Require({"timestamp", "duration", "num_gpus"}));
    HR_TRY(const auto rows, table.Rows());
    std::vector<Record> records;
    double first = 0;
    for (const Row& row : rows) {
      // The file also has jobs that had no GPU, or ended at once.
      const auto gpus = ParseNumber(row.Text("num_gpus"));
      const auto duration = ParseNumber(row.Text("duration"));
      if ((gpus && *gpus == 0) || (duration && *duration == 0)) continue;
      HR_TRY(Record record, Begin(input, row, std::string_view("num_gpus"), "num_gpus"));
      record.id = std::to_string(row.line());
      HR_TRY(record.arrival_s, row.Number("timestamp", 0, kMostSeconds));
      HR_TRY(record.duration_s, row.Number("duration", kLeastSeconds, kMostSeconds));
      record.tenant = row.Text("VC");
      first = records.empty() ? record.arrival_s : std::min(first, record.arrival_s);
      records.push_back(std::move(record));
    }
    for (Record& record : records) record.arrival_s -= first;
    return records;
  }
};

}  // namespace

const Reader& SiaReader() {
  static const Sia reader;
  return reader;
}
const Reader& PhillyReader() {
  static const Philly reader;
  return reader;
}

}  // namespace headrace::simulate
