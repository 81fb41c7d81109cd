import { Argument, Command } from "commander";
import { createBashCompletion } from "./completion/bash.ts";
import { createFishCompletion } from "./completion/fish.ts";
import { findPlaces, type Place } from "./completion/place.ts";
import { createZshCompletion } from "./completion/zsh.ts";

/** `plant-store completion`: a script that completes all commands and flags in a shell. */
export function createCompletionCommand(): Command {
  return new Command("completion")
    .description("Print a shell completion script for commands and flags.")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(shells)))
    .addHelpText("after", notes)
    .action((shell: keyof typeof shells, _: unknown, command: Command) => {
      process.stdout.write(shells[shell](findPlaces(command.parent ?? command)));
    });
}

const shells = {
  bash: createBashCompletion,
  zsh: createZshCompletion,
  fish: createFishCompletion,
} satisfies Record<string, (places: readonly Place[]) => string>;

const notes = `
bash, in ~/.bashrc:         source <(plant-store completion bash)
zsh, after compinit:        source <(plant-store completion zsh)
fish, in config.fish:       plant-store completion fish | source`;
