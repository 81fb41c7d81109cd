import { type Candidate, type Place, stepPatterns, valuePatterns } from "./place.ts";

/** To be sourced, or to be a file `_plant-store` in a folder of `fpath`. */
export function createZshCompletion(places: readonly Place[]): string {
  const files = cases(places.flatMap((place) => valuePatterns(place, "file")));
  const others = cases(places.flatMap((place) => valuePatterns(place, "other")));
  return `#compdef plant-store
# Completes plant-store in zsh.
_plant_store() {
  local place= i found=1
  local -a next flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$place $words[i]" in
      (${cases(places.flatMap(stepPatterns))}) place="\${place:+$place }$words[i]" ;;
      (${files}|${others}) ((i += 1)) ;;
    esac
  done
  case "$place $words[CURRENT-1]" in
    (${files}) _files; return ;;
    (${others}) return 1 ;;
  esac
  case "$place" in
${places.map(createCase).join("\n")}
  esac
  _describe -t commands command next && found=0
  _describe -o -t options option flags && found=0
  return found
}
if [[ $funcstack[1] == _plant-store ]]; then
  _plant_store "$@"
else
  compdef _plant_store plant-store
fi
`;
}

function createCase({ words, next, flags }: Place): string {
  return `    ("${words}") next=(${next.map(item).join(" ")}) flags=(${flags.map(item).join(" ")}) ;;`;
}

function item({ word, description }: Candidate): string {
  return `'${description === "" ? word : `${word}:${description}`}'`;
}

/** With one that nothing matches, because a list may be empty. */
function cases(patterns: readonly string[]): string {
  return ["", ...patterns].map((pattern) => `"${pattern}"`).join("|");
}
