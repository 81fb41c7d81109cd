import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Browser } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The machine's browser. If undefined, tests that need one are skipped. */
export const browserPath: string | undefined = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find((path) => existsSync(path));

export async function launchBrowser(args: string[] = []): Promise<Browser> {
  // Loaded only if there is a browser.
  const { chromium } = await import("playwright-core");
  return await chromium.launch({
    args,
    ...(browserPath === undefined ? {} : { executablePath: browserPath }),
    // The sandbox does not start as root, nor for any user in many containers. The pages are our
    // own.
    chromiumSandbox: false,
  });
}
