/** A reader of Containerfiles: as much of their syntax as ours has, and an error for the rest. */

export interface Stage {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: ReturnType<typeof parseInstruction>[];
}

const known =
  /^(ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|HEALTHCHECK|RUN|STOPSIGNAL|USER|VOLUME|WORKDIR)$/;

export function parseContainerfile(text: string): readonly Stage[] {
  const stages: Stage[] = [];
  const lines = text.split("\n").filter((line) => !/^\s*(#|$)/.test(line));
  for (const line of lines.join("\n").replaceAll("\\\n", " ").split("\n")) {
    const instruction = parseInstruction(line);
    if (instruction.name === "FROM") {
      const [, image = "", name] = /^(\S+)(?: AS (\S+))?$/.exec(instruction.text) ?? [];
      stages.push({ image, name, instructions: [] });
    } else {
      const stage = stages.at(-1);
      if (stage === undefined) throw new Error(`${instruction.name} before FROM`);
      stage.instructions.push(instruction);
    }
  }
  return stages;
}

function parseInstruction(line: string) {
  const [, name = "", flagText = "", text = ""] =
    /^([A-Z]+)((?:\s+--[a-z-]+=\S+)*)\s+(.*)$/.exec(line) ?? [];
  if (!known.test(name)) throw new Error(`not an instruction: ${line}`);
  const flags = [...flagText.matchAll(/--([a-z-]+)=(\S+)/g)];
  // `--from=build` is `["from", "build"]`.
  return { name, text, flags: new Map(flags.map(([, flag = "", value = ""]) => [flag, value])) };
}

export function textOf({ instructions }: Stage, name: string): string {
  const [found, ...others] = instructions.filter((instruction) => instruction.name === name);
  if (found === undefined || others.length > 0) throw new Error(`one ${name} is expected`);
  return found.text;
}

export function environmentOf({ instructions }: Stage): ReadonlyMap<string, string> {
  const pairs = instructions
    .filter(({ name }) => name === "ENV")
    .flatMap(({ text }) => [...text.matchAll(/(\w+)=(\S+)/g)]);
  return new Map(pairs.map(([, name = "", value = ""]) => [name, value]));
}
