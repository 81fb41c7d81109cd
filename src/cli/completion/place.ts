import type { Command } from "commander";
import { fileFlags } from "../settings/flags.ts";

/** One place of a command line: after the program, or after a command of it. */
export interface Place {
  /** The words that lead there from the program: `token create`; at its own, none. */
  readonly words: string;
  /** Commands that lead to a place further on. */
  readonly steps: readonly string[];
  /** What may come next: those commands, `help`, and what an argument may be. */
  readonly next: readonly Candidate[];
  readonly flags: readonly Flag[];
}

export interface Candidate {
  readonly word: string;
  /** One line; no shell reads anything into it, within single quotes. */
  readonly description: string;
}

export interface Flag extends Candidate {
  /** Whether a value follows it, and whether that is the path of a file. */
  readonly value: "none" | "file" | "other";
}

/** Every place of a program's command line, as commander knows it. */
export function findPlaces(command: Command, words = ""): readonly Place[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).map((one) => ({
    word: one.name(),
    description: describe(help.subcommandDescription(one)),
  }));
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) =>
    argChoices.map((word) => ({ word, description: "" })),
  );
  const flags = help.visibleOptions(command).map((option): Flag => {
    const word = option.long ?? option.flags;
    const value = fileFlags.has(word) ? "file" : "other";
    const description = describe(option.description);
    return { word, description, value: option.required ? value : "none" };
  });
  const steps = command.commands.map((one) => one.name());
  return [
    { words, steps, next: [...commands, ...choices], flags },
    ...command.commands.flatMap((one) => findPlaces(one, `${words} ${one.name()}`.trim())),
  ];
}

function describe(text: string): string {
  return text
    .replace(/ \((default|env): .*$/s, "")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/['\\]/g, "");
}

/** The patterns of `case`, in every shell, by which a word leads on from a place. */
export function stepPatterns({ words, steps }: Place): readonly string[] {
  return steps.map((step) => `${words} ${step}`);
}

/** The same for flags that a value follows. */
export function valuePatterns({ words, flags }: Place, value: Flag["value"]): readonly string[] {
  return flags.filter((flag) => flag.value === value).map(({ word }) => `${words} ${word}`);
}
