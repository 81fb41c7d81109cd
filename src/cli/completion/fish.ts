import { type Candidate, type Flag, type Place, stepPatterns, valuePatterns } from "./place.ts";

/** To be sourced, or to be a file `plant-store.fish` in a folder of completions. */
export function createFishCompletion(places: readonly Place[]): string {
  const valued = places.flatMap((place) => [
    ...valuePatterns(place, "file"),
    ...valuePatterns(place, "other"),
  ]);
  return `# Completes plant-store in fish.
function __plant_store_at --description 'Whether the command line is at a place of plant-store'
    set -l words (commandline -opc)
    set -e words[1]
    set -l place
    set -l is_value no
    for word in $words
        if test $is_value = yes
            set is_value no
            continue
        end
        switch "$place $word"
            case ${cases(places.flatMap(stepPatterns))}
                set place (string trim -- "$place $word")
            case ${cases(valued)}
                set is_value yes
        end
    end
    test "$place" = "$argv[1]"
end
complete -c plant-store -f
${places.flatMap(createLines).join("\n")}
`;
}

function createLines({ words, next, flags }: Place): readonly string[] {
  const begin = `complete -c plant-store -n '__plant_store_at "${words}"'`;
  return [
    ...next.map((one) => `${begin} -a ${one.word}${description(one)}`),
    ...flags.map(
      (flag) => `${begin} -l ${flag.word.slice(2)}${takes[flag.value]}${description(flag)}`,
    ),
  ];
}

/** -x: a value that is no file. -r -F: one that is. */
const takes: Record<Flag["value"], string> = { none: "", file: " -r -F", other: " -x" };

function description({ description: text }: Candidate): string {
  return text === "" ? "" : ` -d '${text}'`;
}

/** With one that nothing matches, because a list may be empty. */
function cases(patterns: readonly string[]): string {
  return ["", ...patterns].map((pattern) => `'${pattern}'`).join(" ");
}
