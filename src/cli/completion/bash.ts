import { type Place, stepPatterns, valuePatterns } from "./place.ts";

/**
 * For bash 4 and later; an older one may offer names of files where none belongs,
 * for it cannot take `-o default` back.
 */
export function createBashCompletion(places: readonly Place[]): string {
  const files = cases(places.flatMap((place) => valuePatterns(place, "file")));
  const others = cases(places.flatMap((place) => valuePatterns(place, "other")));
  return `# Completes plant-store in bash.
_plant_store() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local place= candidates= i
  # The = of --flag=value is a word of its own.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" ]]; then
    before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place \${COMP_WORDS[i]}" in
      ${cases(places.flatMap(stepPatterns))}) place="\${place:+$place }\${COMP_WORDS[i]}" ;;
      ${files} | ${others})
        if [[ \${COMP_WORDS[i+1]} == "=" ]]; then ((i++)); fi
        ((i++)) ;;
    esac
  done
  COMPREPLY=()
  case "$place $before" in
    # Where we have nothing, bash offers names of files.
    ${files}) return ;;
    ${others}) compopt +o default 2>/dev/null; return ;;
  esac
  case "$place" in
${places.map(createCase).join("\n")}
  esac
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _plant_store plant-store
`;
}

function createCase({ words, next, flags }: Place): string {
  const all = [...next, ...flags].map(({ word }) => word);
  return `    "${words}") candidates="${all.join(" ")}" ;;`;
}

/** With one that nothing matches, because a list may be empty. */
function cases(patterns: readonly string[]): string {
  return ["", ...patterns].map((pattern) => `"${pattern}"`).join(" | ");
}
