import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Browser } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The browser of the machine; undefined where there is none, and its tests are skipped. */
export const browserPath: string | undefined = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find((path) => existsSync(path));

export async function launchBrowser(): Promise<Browser> {
  // Where there is no browser, nothing is loaded either.
  const { chromium } = await import("playwright-core");
  return await chromium.launch({
    ...(browserPath === undefined ? {} : { executablePath: browserPath }),
    // Its sandbox starts for no root, and for nobody in many a container; the pages are our own.
    chromiumSandbox: false,
  });
}
