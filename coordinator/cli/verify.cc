#include <utility>

#include "coordinator/cli/inspect_command.h"

namespace headrace::cli {

void AddVerify(CLI::App& app, Action& chosen, std::vector<std::string> program) {
  const auto options = MakeInspectCommand("verify", std::move(program));
  CLI::App* command = AddInspectCommand(
      app, chosen, options,
      "Compare batches of a program's DataLoaders with the stock loader's, bit by "
      "bit");
  command->add_option("--batches", options->inspection.batches, "Of each loader [default: 8]")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command->footer(
      "headrace verify [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
      "The program runs up to the first iter() of a DataLoader and ends there. Each DataLoader "
      "that "
      "it has then makes its first batches both ways. The exit code is 0 if all are equal, else "
      "1.\n"
      "\nExamples:\n"
      "  headrace verify train.py --data /data/imagenet\n"
      "  headrace verify --batches 100 -- python train.py --epochs 3");
}

}  // namespace headrace::cli
