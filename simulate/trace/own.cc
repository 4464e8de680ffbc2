#include <charconv>

#include "simulate/trace/csv.h"
#include "simulate/trace/fields.h"
#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

std::string Number(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr};
}

// "SECONDS:FACTOR;SECONDS:FACTOR", seconds rising.
Result<std::vector<Ramp>> ReadRamp(const Row& row) {
  std::vector<Ramp> ramp;
  std::string_view rest = row.Text("ramp");
  while (!rest.empty()) {
    const std::string_view piece = rest.substr(0, rest.find(';'));
    rest = piece.size() == rest.size() ? std::string_view() : rest.substr(piece.size() + 1);
    const std::size_t colon = piece.find(':');
    const auto from = ParseNumber(piece.substr(0, colon));
    const auto factor = ParseNumber(colon == std::string_view::npos ? "" : piece.substr(colon + 1));
    const bool rises =
        from && *from >= 0 && *from <= kMostSeconds && (ramp.empty() || *from > ramp.back().from_s);
    if (!rises || factor.value_or(0) < 1e-6 || *factor > 1e6) {
      return row.Wrong("ramp", "SECONDS:FACTOR;... with seconds that rise", piece);
    }
    ramp.push_back({*from, *factor});
  }
  return ramp;
}

// The project's own format (docs/reference/traces.md).
class Own final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "headrace"; }
  [[nodiscard]] bool Detect(std::string_view first_line) const override {
    for (const std::string_view column : {"job_id", "arrival_s", "gpus"}) {
      if (first_line.find(column) == std::string_view::npos) return false;
    }
    return true;
  }
  [[nodiscard]] Result<std::vector<Record>> Read(const Input& input) const override {
    const Table table(input.file, input.text, ',', true);
    HR_RETURN_IF_ERROR(table.Require({"job_id", "arrival_s", "gpus"}));
    HR_TRY(const auto rows, table.Rows());
    std::vector<Record> records;
    for (const Row& row : rows) {
      HR_TRY(Record record, ReadRow(input, row));
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  static Result<Record> ReadRow(const Input& input, const Row& row) {
    HR_TRY(Record record, Begin(input, row, std::string_view("gpus"), "gpus"));
    record.id = row.Text("job_id");
    record.model = row.Text("model");
    record.tenant = row.Text("tenant");
    record.dataset = row.Text("dataset");
    HR_TRY(record.arrival_s, row.Number("arrival_s", 0, kMostSeconds));
    HR_TRY(const auto priority, row.Optional("priority", -1000, 1000));
    record.priority = static_cast<int>(priority.value_or(0));
    const auto seconds = [&](std::string_view column, double least) {
      return row.Optional(column, least, kMostSeconds);
    };
    HR_TRY(record.iterations, row.Optional("iterations", kLeastSeconds, kMostCount));
    HR_TRY(record.duration_s, seconds("duration_s", kLeastSeconds));
    HR_TRY(record.iteration_s, seconds("iteration_s", kLeastSeconds));
    HR_TRY(record.step_s, seconds("step_s", kLeastSeconds));
    HR_TRY(record.input_s, seconds("input_s", 0));
    HR_TRY(record.hit_input_s, seconds("hit_input_s", 0));
    HR_TRY(record.batch, row.Optional("batch", 1e-6, kMostCount));
    HR_TRY(record.profile_cores, row.Optional("profile_cores", 1e-3, 1e5));
    HR_TRY(record.full_speed_cores, row.Optional("full_speed_cores", 0, 1e5));
    HR_TRY(const auto separable, row.Optional("separable", 0, 1));
    if (separable) record.separable = *separable != 0;
    HR_TRY(const auto size, row.Optional("dataset_gb", 1e-9, kMostGB));
    if (size) record.dataset_bytes = *size * 1e9;
    HR_TRY(record.sample_bytes, row.Optional("sample_bytes", 0, kMostCount));
    HR_TRY(record.entry_bytes, row.Optional("entry_bytes", 0, kMostCount));
    HR_TRY(record.sent_bytes, row.Optional("sent_bytes", 0, kMostCount));
    HR_TRY(record.ramp, ReadRamp(row));
    return record;
  }
};

}  // namespace

const Reader& OwnReader() {
  static const Own reader;
  return reader;
}

std::string WriteTrace(const Trace& trace) {
  std::string text =
      "job_id,arrival_s,gpus,model,tenant,priority,iterations,batch,step_s,input_s,hit_input_s,"
      "profile_cores,separable,dataset,dataset_gb,sample_bytes,entry_bytes,sent_bytes,ramp\n";
  for (const Job& job : trace.jobs) {
    const auto add = [&](std::string_view field) { (text += field) += ','; };
    add(Quoted(job.id));
    add(Number(job.arrival_s));
    add(std::to_string(job.gpus));
    add(Quoted(job.model));
    add(Quoted(job.tenant));
    add(std::to_string(job.priority));
    add(Number(job.iterations));
    add(Number(job.batch / job.gpus));
    add(Number(job.step_s));
    add(Number(job.input_core_s / job.gpus));
    add(Number(job.hit_core_s / job.gpus));
    add("1");
    add(job.separable ? "1" : "0");
    if (job.dataset < 0) {
      add("none");
      add("");
      add("");
      add("");
    } else {
      const Dataset& dataset = trace.datasets[static_cast<std::size_t>(job.dataset)];
      add(Quoted(dataset.name));
      add(Number(dataset.bytes / 1e9));
      add(Number(job.sample_bytes));
      add(Number(job.entry_bytes));
    }
    add(Number(job.sent_bytes));
    for (std::size_t i = 0; i < job.ramp.size(); ++i) {
      if (i > 0) text += ';';
      text += Number(job.ramp[i].from_s) + ":" + Number(job.ramp[i].factor);
    }
    text += '\n';
  }
  return text;
}

}  // namespace headrace::simulate
