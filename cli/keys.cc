#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "net/keyring.h"

namespace headrace::cli {

void AddKeysCommand(CLI::App& app, Action& chosen) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "keys",
      "Make the keys that keep strangers out of a pool: one for each role, and who is "
      "admitted");
  command->add_option("directory", *directory, "A new directory, for this user alone")
      ->required()
      ->type_name("DIR");
  command->footer(
      "Each host needs a directory (mode 0700) with `allow` and the keys (mode 0600) of what runs "
      "there:\n"
      "  coordinator.key   headrace coordinator, and worker.key for its own --workers\n"
      "  worker.key        headrace worker\n"
      "  trainer.key       headrace run, and worker.key where it lends the pool this host's CPUs\n"
      "  observer.key      headrace workers, jobs, top, metrics\n"
      "  admin.key         may ask for everything\n"
      "Examples:\n"
      "  headrace keys ~/pool-keys\n"
      "  headrace coordinator --listen tcp://0.0.0.0:7070 --keys ~/pool-keys\n"
      "  HEADRACE_KEYS=~/pool-keys headrace run --coordinator tcp://head:7070 python train.py");
  command->callback([&chosen, directory] {
    chosen = [directory] {
      if (Status s = net::WriteKeys(*directory); !s.ok()) return Fail(s);
      std::printf("keys made in %s\n", directory->c_str());
      return 0;
    };
  });
}

}  // namespace headrace::cli
