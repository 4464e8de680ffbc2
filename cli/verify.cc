#include <utility>

#include "cli/inspect_command.h"

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
  command->add_flag("--workers", options->inspection.workers,
                    "Compare each worker of the pool by itself");
  command->footer(
      "headrace verify [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
      "The program runs up to the first iter() of a DataLoader and ends there. Each DataLoader "
      "that "
      "it has then makes its first batches both ways. The exit code is 0 if all are equal, else "
      "1.\n"
      "With --workers each worker that is ready makes them alone, whatever the job has leased. One "
      "that can't, or that has other files than this host, counts as different.\n"
      "\nExamples:\n"
      "  headrace verify train.py --data /data/imagenet\n"
      "  headrace verify --batches 100 -- python train.py --epochs 3\n"
      "  headrace verify --workers --coordinator tcp://head:7070 train.py");
}

}  // namespace headrace::cli
