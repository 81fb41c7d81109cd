/** The page as people use it, in a browser. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserPath, launchBrowser } from "../support/browser.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken, openTestServer, type TestServer } from "../support/test-server.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What a slow machine may need for a page; nothing here waits for time to pass. */
const timeout = 60_000;

describe.skipIf(browserPath === undefined)("in a browser", { timeout }, () => {
  let server: TestServer;
  let browser: Browser;
  /** One for all: a test begins by going somewhere. */
  let page: Page;
  const requests: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    server = await openTestServer({ basePath: "/api" });
    browser = await launchBrowser();
    page = await browser.newPage({ reducedMotion: "reduce" });
    page.setDefaultTimeout(timeout / 2);
    page.on("request", (request) => requests.push(request.url()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      // What a browser logs of an answer that is an error is no fault of the page.
      if (!message.text().startsWith("Failed to load resource")) complaints.push(message.text());
    });
    page.on("response", (response) => {
      if (response.status() >= 500) complaints.push(`${response.status()} ${response.url()}`);
    });
    await page.exposeFunction("complain", (text: string) => complaints.push(text));
    await page.addInitScript(`
      addEventListener("securitypolicyviolation", (event) =>
        complain("refused: " + event.violatedDirective + " " + event.blockedURI));
    `);
  }, timeout);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
  }, timeout);

  async function visit(path: string): Promise<void> {
    await page.goto(server.url + path);
  }

  afterEach(() => {
    const { origin } = new URL(server.url);
    const all = requests.splice(0);
    expect(all.length).toBeGreaterThan(0);
    expect(all.filter((url) => new URL(url).origin !== origin)).toEqual([]);
    expect(all.filter((url) => url.includes(knownToken))).toEqual([]);
    expect(complaints.splice(0)).toEqual([]);
  });

  async function fill(values: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, value] of Object.entries(values)) await page.getByLabel(label).fill(value);
  }

  async function findAnswer(): Promise<string> {
    await page.locator("#answer .status").waitFor();
    return (await page.locator("#answer").textContent()) ?? "";
  }

  test("a click creates a plant, and its id is exact", async () => {
    await visit("/");
    const plant = { Token: knownToken, Id: "9007199254740993", Name: 'It\'s a "fern" 🌿', Tag: "" };
    await fill(plant);
    await page.getByRole("button", { name: "Create" }).click();
    expect(await findAnswer()).toContain("200 OK");
    expect(await findAnswer()).toContain(JSON.stringify({ name: plant.Name }));
    expect(readStoredPlants(server.database)).toContainEqual(
      storedForm({ id: 9007199254740993n, name: plant.Name }),
    );
    const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length]);
    expect([...kept, await page.context().cookies()]).toEqual([0, 0, []]);
  });

  test("the request is shown for a shell, and shows no token", async () => {
    await visit("/");
    await fill({ Token: knownToken, Id: "9223372036854775807", Name: "Jack's", Tag: "bean" });
    const shown = await page.locator("#curl").textContent();
    expect(shown).toBe(
      `curl -X POST '${server.url}/plants' \\\n` +
        '  -H "Authorization: Bearer $TOKEN" \\\n' +
        '  -H "Content-Type: application/json" \\\n' +
        `  -d '{"id": 9223372036854775807, "name": "Jack'\\''s", "tag": "bean"}'`,
    );
  });

  test.each([
    ["an id that is none", { Token: knownToken, Id: "1.5" }, "400", '"error":3'],
    [
      "an id that is too large",
      { Token: knownToken, Id: "9223372036854775808" },
      "400",
      '"error":3',
    ],
    ["no id", { Token: knownToken, Id: "" }, "400", '"error":3'],
    ["a token that nobody knows", { Token: "no-such-token-at-all" }, "401", '"error":16'],
    ["no token", { Token: "" }, "401", '"error":16'],
    ["a token that no header can carry", { Token: "tökén→" }, "Not sent", "token"],
  ])("%s is refused, and why is shown", async (_, values, status, body) => {
    await visit("/");
    const before = readStoredPlants(server.database);
    await fill(values);
    await page.getByRole("button", { name: "Create" }).click();
    const shown = await findAnswer();
    expect(shown).toContain(status);
    expect(shown.toLowerCase()).toContain(body);
    expect(readStoredPlants(server.database)).toEqual(before);
  });

  test("the keyboard alone is enough", async () => {
    await visit("/");
    const visited: string[] = [];
    for (let i = 0; i < 7; i++) {
      await page.keyboard.press("Tab");
      visited.push(
        await page.evaluate(() => {
          const element = document.activeElement;
          return element?.id || element?.textContent?.trim() || "";
        }),
      );
    }
    expect(visited).toEqual([
      "Skip to the form",
      "API reference",
      "openapi.json",
      "token",
      "id",
      "tag",
      "name",
    ]);
    await page.getByLabel("Token").focus();
    await page.keyboard.type(knownToken);
    await page.keyboard.press("Tab");
    await page.keyboard.type("-7");
    await page.keyboard.press("Enter");
    expect(await findAnswer()).toContain("200 OK");
    expect(readStoredPlants(server.database).map(({ id }) => id)).toContain(-7n);
  });

  test("the state of the service is live", async () => {
    await page.clock.install();
    await visit("/");
    const state = page.getByText("Ready for plants");
    await state.waitFor();
    const failure = { status: 503, body: "{}" };
    await page.route("**/readyz", (route) => route.fulfill(failure));
    await page.clock.runFor(6000);
    await page.getByText("Takes no plants now").waitFor();
    await page.unroute("**/readyz");
    await page.clock.runFor(6000);
    await state.waitFor();
    expect(complaints.splice(0)).toEqual([`503 ${server.url}/readyz`]);
  });

  test("page and reference lead to each other", async () => {
    await visit("/");
    await page.getByRole("link", { name: "API reference" }).first().click();
    await page.getByText("creates a new plant in the store").waitFor();
    expect(await page.locator("#base").textContent()).toBe(`${server.url}/`);
    expect(await page.getByRole("button", { name: /try it out|authorize/i }).count()).toBe(0);
    await page.getByRole("link", { name: "Create a plant" }).first().click();
    await page.getByLabel("Token").waitFor();
  });

  test.each(
    ["/", "/docs"].flatMap((path) =>
      (["light", "dark"] as const).map((colorScheme) => ({ path, colorScheme })),
    ),
  )("$path in $colorScheme shuts nobody out, wide or narrow", async ({ path, colorScheme }) => {
    await page.emulateMedia({ colorScheme });
    await visit(path);
    if (path === "/") {
      await fill({ Token: knownToken, Id: "12", Name: "Basil", Tag: "herb" });
      await page.getByRole("button", { name: "Create" }).click();
      await findAnswer();
    } else {
      await page.locator(".opblock-body").waitFor();
    }
    await page.evaluate(axe);
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(scrolled).toBeLessThanOrEqual(width);
      expect(await findBarriers()).toEqual([]);
    }
  });

  async function findBarriers(): Promise<string[]> {
    const { violations } = await page.evaluate<AxeResults>("axe.run()");
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
  }
});
