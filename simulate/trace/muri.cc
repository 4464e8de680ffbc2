#include "simulate/trace/csv.h"
#include "simulate/trace/fields.h"
#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

// Muri's simulator (Zhao et al., SIGCOMM 2022). Times are in ms. resource_time_0 is the input
// stage, 1 the GPU, 2 the network. They were measured separately from each other and from
// iteration_time.
class Muri final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "muri"; }
  [[nodiscard]] bool Detect(std::string_view first_line) const override {
    return first_line.find("resource_time_0") != std::string_view::npos;
  }
  [[nodiscard]] Result<std::vector<Record>> Read(const Input& input) const override {
    const Table table(input.file, input.text, ',', true);
    HR_RETURN_IF_ERROR(
        table.Require({"job_id", "num_gpu", "submit_time", "iterations", "model_name", "batch_size",
                       "iteration_time", "resource_time_0", "resource_time_1", "resource_time_2"}));
    HR_TRY(const auto rows, table.Rows());
    std::vector<Record> records;
    for (const Row& row : rows) {
      HR_TRY(Record record, Begin(input, row, std::string_view("num_gpu"), "num_gpu"));
      record.id = row.Text("job_id");
      record.model = row.Text("model_name");
      constexpr double kMostMs = kMostSeconds * 1e3;
      HR_TRY(const double submit, row.Number("submit_time", 0, kMostMs));
      HR_TRY(record.iterations, row.Number("iterations", kLeastSeconds, kMostCount));
      HR_TRY(record.batch, row.Number("batch_size", kLeastSeconds, kMostCount));
      HR_TRY(const double whole, row.Number("iteration_time", 1e-6, kMostMs));
      HR_TRY(const double read, row.Number("resource_time_0", 0, kMostMs));
      HR_TRY(const double gpu, row.Number("resource_time_1", 0, kMostMs));
      HR_TRY(const double net, row.Number("resource_time_2", 0, kMostMs));
      if (gpu + net < 1e-6) return row.Wrong("resource_time_1", "more than 0", "0");
      record.arrival_s = submit / 1e3;
      record.iteration_s = whole / 1e3;
      record.input_s = read / 1e3;
      record.step_s = (gpu + net) / 1e3;
      records.push_back(std::move(record));
    }
    return records;
  }
};

}  // namespace

const Reader& MuriReader() {
  static const Muri reader;
  return reader;
}

}  // namespace headrace::simulate
