#include <utility>

#include "cli/inspect_command.h"

namespace headrace::cli {

void AddExplain(CLI::App& app, Action& chosen, std::vector<std::string> program) {
  const auto options = MakeInspectCommand("explain", std::move(program));
  CLI::App* command = AddInspectCommand(
      app, chosen, options, "Say what of a program's DataLoaders would run where, and why");
  command->add_option("--svg", options->inspection.svg, "Write a picture there, too")
      ->type_name("FILE");
  command->footer(
      "headrace explain [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
      "The program runs up to the first iter() of a DataLoader and ends there: it trains nothing "
      "and "
      "writes no checkpoint. What it prints goes to standard error.\n"
      "\nExamples:\n"
      "  headrace explain train.py --data /data/imagenet\n"
      "  headrace explain --loaders 2 --svg graph.svg -- python train.py --epochs 3");
}

}  // namespace headrace::cli
