#include <nlohmann/json.hpp>

#include "simulate/trace/csv.h"
#include "simulate/trace/fields.h"
#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

// Gavel's traces (Narayanan et al., OSDI 2020): no header, tabs between the fields. Steps/s come
// from its table of throughputs, for the V100.
class Gavel final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "gavel"; }
  [[nodiscard]] bool Detect(std::string_view first_line) const override {
    const auto fields = Split(first_line, '\t');
    return fields && fields->size() >= 7 && (*fields)[0].find("(batch size ") != std::string::npos;
  }
  [[nodiscard]] Result<std::vector<Record>> Read(const Input& input) const override {
    HR_TRY(const std::string text, input.companion("simulation_throughputs.json"));
    const nlohmann::json table = nlohmann::json::parse(text, nullptr, false);
    if (table.is_discarded() || !table.is_object() || !table.contains("v100")) {
      return InvalidArgument(
          "simulation_throughputs.json: expected a JSON object with the member v100");
    }
    HR_TRY(const auto rows, Table(input.file, input.text, '\t', false).Rows());
    std::vector<Record> records;
    for (const Row& row : rows) {
      HR_TRY(Record record, ReadRow(input, row, table["v100"]));
      record.id = std::to_string(records.size());
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  static Result<Record> ReadRow(const Input& input, const Row& row, const nlohmann::json& rates) {
    if (row.size() < 7) {
      return row.Wrong("row", "7 or more fields with tabs between", std::to_string(row.size()));
    }
    // job_type, command, working directory, num_steps_arg, needs_data_dir, total_steps,
    // scale_factor (GPUs), weight, SLO, arrival_time (s). Its older form: job_type, command,
    // num_steps_arg, needs_data_dir, total_steps, arrival_time, scale_factor.
    const bool newer = row.size() >= 9;
    const std::size_t steps_at = newer ? 5 : 4;
    const std::size_t arrival_at = newer ? row.size() - 1 : 5;
    const std::size_t gpus_at = 6;
    HR_TRY(Record record, Begin(input, row, gpus_at, "scale_factor"));
    HR_TRY(record.iterations, row.Number(steps_at, "total_steps", 1, kMostCount));
    HR_TRY(record.arrival_s, row.Number(arrival_at, "arrival_time", 0, kMostSeconds));
    record.model = row.Text(0);
    const std::size_t from = record.model.find("(batch size ");
    if (from != std::string::npos) {
      const std::string_view behind = std::string_view(record.model).substr(from + 12);
      const auto batch = ParseNumber(behind.substr(0, behind.find(')')));
      if (!batch || *batch < 1 || *batch > kMostCount) {
        return row.Wrong("job_type", "a batch size", behind);
      }
      record.batch = batch;
    }
    const std::string key = "('" + record.model + "', " + std::to_string(record.gpus) + ")";
    if (!rates.is_object() || !rates.contains(key) || !rates[key].is_object() ||
        !rates[key].contains("null") || !rates[key]["null"].is_number()) {
      return row.Wrong("job_type", "a type and GPUs of the table of throughputs", key);
    }
    const double rate = rates[key]["null"].get<double>();
    if (!(rate > kLeastSeconds) || rate > kMostCount) {
      return row.Wrong("job_type", "steps per second above 0 in the table of throughputs", key);
    }
    record.iteration_s = 1 / rate;
    return record;
  }
};

}  // namespace

const Reader& GavelReader() {
  static const Gavel reader;
  return reader;
}

}  // namespace headrace::simulate
