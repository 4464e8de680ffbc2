#include <map>

#include "simulate/trace/csv.h"
#include "simulate/trace/fields.h"
#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

// Synergy's deployment traces (Mohan et al., OSDI 2022): no header; job, model, arrival (s),
// iterations, GPUs. Its profiles give the time of an iteration, for one GPU with three cores.
class Synergy final : public Reader {
 public:
  [[nodiscard]] std::string_view name() const override { return "synergy"; }
  [[nodiscard]] bool Detect(std::string_view first_line) const override {
    const auto fields = Split(first_line, ',');
    if (!fields || fields->size() != 5) return false;
    const auto is_number = [&](std::size_t at) { return ParseNumber((*fields)[at]).has_value(); };
    return is_number(0) && !is_number(1) && is_number(2) && is_number(3) && is_number(4);
  }
  [[nodiscard]] Result<std::vector<Record>> Read(const Input& input) const override {
    HR_TRY(const auto profiles, ReadProfiles(input));
    HR_TRY(const auto rows, Table(input.file, input.text, ',', false).Rows());
    std::vector<Record> records;
    for (const Row& row : rows) {
      if (row.size() != 5) return row.Wrong("row", "5 fields", std::to_string(row.size()));
      HR_TRY(Record record, Begin(input, row, std::size_t{4}, "gpus"));
      record.id = row.Text(0);
      record.model = row.Text(1);
      HR_TRY(record.arrival_s, row.Number(2, "arrival", 0, kMostSeconds));
      HR_TRY(record.iterations, row.Number(3, "iterations", kLeastSeconds, kMostCount));
      const auto it = profiles.find(record.model);
      if (it == profiles.end()) return row.Wrong("model", "one of the profiles", record.model);
      const Profile& profile = it->second;
      record.batch = profile.batch;
      record.profile_cores = kProfiled;
      record.iteration_s = profile.iteration_s;
      record.full_speed_cores = profile.speedup > 1 ? kProfiled * profile.speedup : profile.cores;
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  static constexpr double kProfiled = 3;  // cores a GPU
  struct Profile {
    double batch, iteration_s, speedup, cores;
  };

  static Result<std::map<std::string, Profile, std::less<>>> ReadProfiles(const Input& input) {
    const std::string file = "synergy_cpu_mem_profiles.csv";
    HR_TRY(const std::string text, input.companion(file));
    const Table table(file, text, ',', true);
    HR_RETURN_IF_ERROR(table.Require({"model", "gpus", "file_cpu_per_gpu_ratio", "opt_cpus",
                                      "batch", "iter_time_opt", "speedup"}));
    HR_TRY(const auto rows, table.Rows());
    std::map<std::string, Profile, std::less<>> profiles;
    for (const Row& row : rows) {
      if (row.Text("gpus") != "1" || row.Text("file_cpu_per_gpu_ratio") != "3") continue;
      Profile profile{};
      HR_TRY(profile.batch, row.Number("batch", 1, kMostCount));
      HR_TRY(profile.iteration_s, row.Number("iter_time_opt", kLeastSeconds, kMostSeconds));
      HR_TRY(profile.speedup, row.Number("speedup", 1, 1000));
      HR_TRY(profile.cores, row.Number("opt_cpus", 0, 1000));
      profiles.emplace(row.Text("model"), profile);
    }
    return profiles;
  }
};

}  // namespace

const Reader& SynergyReader() {
  static const Synergy reader;
  return reader;
}

}  // namespace headrace::simulate
