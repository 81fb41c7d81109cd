/** The flag of an option: `bodyBytesMax` -> `body-bytes-max`. */
export function flagName(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
