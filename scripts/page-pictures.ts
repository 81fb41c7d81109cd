/** Makes the README's pictures of the page, `docs/images/page-{light,dark}.png`, in a Chromium. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchBrowser } from "../packages/kit/test/support/browser.ts";
import { createRecordedLog } from "../packages/kit/test/support/recorded-log.ts";
import { startServer } from "../src/server/start.ts";

const token = "only-for-the-pictures-0123456789abcdefghijkl";
/** What the pictures show, whatever port is free. */
const shownOrigin = "http://localhost:8080";

for (const colorScheme of ["light", "dark"] as const) {
  const folder = mkdtempSync(join(tmpdir(), "page-pictures-"));
  const server = await startServer({
    port: 0,
    store: `sqlite:${join(folder, "plants.db")}`,
    auth: { tokenFile: undefined, tokens: [token] },
    log: createRecordedLog(),
  });
  const { host } = new URL(server.url);
  await warmUp(server.url);
  const browser = await launchBrowser([
    `--host-resolver-rules=MAP ${new URL(shownOrigin).host} ${host}`,
  ]);
  try {
    const page = await browser.newPage({
      colorScheme,
      reducedMotion: "reduce",
      viewport: { width: 1280, height: 924 },
    });
    await page.goto(shownOrigin);
    await page.getByText("Ready for plants").waitFor();
    await page.getByText("gRPC-Web", { exact: true }).first().click();
    await page.getByLabel("Token").fill(token);
    await page.getByLabel("Id", { exact: true }).fill("9007199254740993");
    await page.getByRole("button", { name: "Create the plant" }).click();
    await page.locator("#answer").getByText("200 OK", { exact: true }).waitFor();
    await page.locator("#create").evaluate((section) => {
      scrollTo(0, section.getBoundingClientRect().top + scrollY - 24);
      (document.activeElement as HTMLElement | null)?.blur();
    });
    await page.screenshot({ path: `docs/images/page-${colorScheme}.png` });
  } finally {
    await browser.close();
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

/** The first requests of a process are slow, and the picture shows a time. */
async function warmUp(url: string): Promise<void> {
  for (let id = 0; id < 50; id++) {
    const response = await fetch(`${url}/plants`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ id, name: "Basil" }),
    });
    if (!response.ok) throw new Error(await response.text());
  }
}
