import { schema } from "./settings.ts";

/** The command that makes a token, as the user who started this process would type it. */
export function tokenCommand(file: string | undefined): string {
  const isDefault = file === undefined || file === schema.auth.tokenFile.default;
  const flag = isDefault ? "" : ` --token-file ${quote(file)}`;
  return `${programName()} token create${flag}`;
}

/** The way in which the user started this process. */
function programName(): string {
  const { npm_lifecycle_event: event, npm_package_name: packageName } = process.env;
  if (event === undefined) return "plant-store";
  const isCheckout = event !== "npx" && packageName === "plant-store";
  // Without --no, npx would run whatever has the name on the registry.
  return isCheckout ? "npm run -s plant-store --" : "npx --no -- plant-store";
}

function quote(path: string): string {
  return /^[\w./:@%+=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
