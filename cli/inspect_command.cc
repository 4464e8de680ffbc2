#include "cli/inspect_command.h"

#include <utility>

#include "cli/program.h"

namespace headrace::cli {
namespace {

int Run(const InspectCommand& options) {
  const std::string& what = options.inspection.what;
  if (options.program.empty()) {
    Fail(InvalidArgument(what + " what? for example: headrace " + what + " train.py"));
    return 2;
  }
  Result<std::string> svg = FromRoot(options.inspection.svg);
  if (!svg.ok()) return Fail(svg.status());
  if (Status s = PrepareLaunch(options.launch); !s.ok()) return Fail(s);
  Inspection inspection = options.inspection;
  inspection.svg = std::move(svg).value();
  return Inspect(inspection, WithInterpreter(options.program, Environment("PATH")));
}

}  // namespace

CLI::App* AddInspectCommand(CLI::App& app, Action& chosen,
                            const std::shared_ptr<InspectCommand>& options, const char* help) {
  Inspection& inspection = options->inspection;
  CLI::App* command = app.add_subcommand(inspection.what, help);
  command
      ->add_option("--loaders", inspection.loaders,
                   "Go on to the first iter() of the program's DataLoader number N [default: 1]")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  command->add_flag("--json", inspection.json, "Print JSON");
  // For `verify`, --workers means each worker of the pool.
  AddLaunchOptions(*command, options->launch, inspection.what != "verify");
  command->callback([&chosen, options] { chosen = [options] { return Run(*options); }; });
  return command;
}

std::shared_ptr<InspectCommand> MakeInspectCommand(const char* what,
                                                   std::vector<std::string> program) {
  auto options = std::make_shared<InspectCommand>();
  options->inspection.what = what;
  options->program = std::move(program);
  return options;
}

}  // namespace headrace::cli
