/** The page as people use it, in a browser. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserPath, launchBrowser } from "../../packages/kit/test/support/browser.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What a slow machine may need for a page; nothing here waits for time to pass. */
const timeout = 60_000;

describe.skipIf(browserPath === undefined)("in a browser", { timeout }, () => {
  const server = useTestServer({ basePath: "/api" });
  let browser: Browser;
  /** One for all: a test begins by going somewhere. */
  let page: Page;
  const requests: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
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

  afterAll(() => browser?.close(), timeout);

  async function visit(path: string): Promise<void> {
    await page.goto(server.url + path);
  }

  afterEach(() => {
    const { origin } = new URL(server.url);
    const all = requests.splice(0);
    expect(new Set(all.map((url) => new URL(url).origin))).toEqual(new Set([origin]));
    expect(all.join()).not.toContain(knownToken);
    expect(complaints.splice(0)).toEqual([]);
  });

  async function fill(values: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, value] of Object.entries(values)) await page.getByLabel(label).fill(value);
  }

  async function create(): Promise<void> {
    await page.getByRole("button", { name: "Create the plant" }).click();
  }

  /** The response as it is shown, from its status to its body. */
  async function findAnswer(): Promise<string> {
    await page.locator("#answer .status").waitFor();
    return (await page.locator("#answer").textContent()) ?? "";
  }

  async function sendAs(protocol: string): Promise<void> {
    await page.getByLabel(protocol, { exact: true }).check({ force: true });
  }

  async function createAs(protocol: string, values: Parameters<typeof fill>[0]): Promise<void> {
    await visit("/");
    await sendAs(protocol);
    await fill({ Token: knownToken, ...values });
    await create();
  }

  async function untilTaken(): Promise<void> {
    await page.locator("#answer .status").getByText("ALREADY_EXISTS").waitFor();
  }

  const storedIds = () => readStoredPlants(server.database).map(({ id }) => id);

  /** What assistive technology says of a field: its error, and whether the focus is there. */
  async function findFieldError(field: string) {
    const [isInvalid, isFocused] = await page
      .locator(`#${field}`)
      .evaluate((input) => [input.ariaInvalid === "true", input === document.activeElement]);
    return { error: await page.locator(`#${field}-error`).textContent(), isInvalid, isFocused };
  }

  const protocols = ["REST", "Connect", "gRPC-Web"];

  test.each([
    ["REST", "/api/plants", "application/json"],
    ["Connect", "/api/plantstore.v1.PlantService/CreatePlant", "application/json"],
    ["gRPC-Web", "/api/plantstore.v1.PlantService/CreatePlant", "application/grpc-web+proto"],
  ])(
    "%s creates a plant with its exact id, and shows what goes over the wire",
    async (protocol, path, type) => {
      const id = 9007199254740993n + BigInt(protocols.indexOf(protocol));
      const name = 'It\'s a "fern" 🌿';
      const sent = page.waitForRequest((request) => request.method() === "POST");
      await createAs(protocol, { Id: `${id}`, Name: name, Tag: "" });
      const request = await sent;
      expect(await findAnswer()).toContain("200 OK");
      expect(await findAnswer()).toContain(JSON.stringify(name));
      expect(readStoredPlants(server.database)).toContainEqual(storedForm({ id, name }));
      const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length]);
      expect([...kept, await page.context().cookies()]).toEqual([0, 0, []]);
      const shown = await page.locator("#request").textContent();
      expect(new URL(request.url()).pathname).toBe(path);
      expect(shown).toContain(`POST ${path} HTTP/1.1\n`);
      expect(shown).toContain(`content-type: ${type}`);
      expect(await request.headerValue("content-type")).toBe(type);
      const body = request.postDataBuffer() ?? Buffer.alloc(0);
      const cells = await page.locator("#request td:first-child").allTextContents();
      if (protocol === "gRPC-Web")
        expect(cells.join(" ")).toBe(body.toString("hex", 0).replace(/..(?=.)/g, "$& "));
      else expect(shown).toContain(body.toString());
      expect(shown).not.toContain(knownToken);
    },
  );

  test.each(protocols)(
    "after a success, %s shows what a retry and a conflict do",
    async (protocol) => {
      const id = `${100 + protocols.indexOf(protocol)}`;
      await createAs(protocol, { Id: id, Name: "Basil", Tag: "herb" });
      await page.getByText("The plant is safely stored.", { exact: true }).waitFor();
      const stored = readStoredPlants(server.database);

      await page.getByRole("button", { name: "Another plant, same id" }).click();
      await untilTaken();
      expect(await findFieldError("id")).toEqual({
        error: "another plant has this id (choose another id or repeat its name and tag)",
        isInvalid: true,
        isFocused: false,
      });

      await page.getByRole("button", { name: "Send the same again" }).click();
      await page.getByText("still one plant").waitFor();
      expect(await page.locator("#answer .status").textContent()).toContain("200 OK");
      expect(await page.getByLabel("Name").inputValue()).toBe("Basil");
      expect(await findFieldError("id")).toMatchObject({ error: "", isInvalid: false });
      expect(readStoredPlants(server.database)).toEqual(stored);
    },
  );

  const unknown = "no-such-token-at-all";
  const errors: readonly [values: Readonly<Record<string, string>>, field: string, says: string][] =
    [
      [{ Id: "1.5" }, "id", "id must be a 64-bit integer"],
      [{ Id: "9223372036854775808" }, "id", "id must be a 64-bit integer"],
      [{ Id: "" }, "id", "id is required"],
      [{ Token: unknown }, "token", "the bearer token is unknown or revoked"],
      [{ Token: "" }, "token", "Enter a token."],
      [{ Token: "tökén→" }, "token", "HTTP headers cannot carry"],
    ];
  test.each(protocols)("%s: an error is at its field", async (protocol) => {
    await visit("/");
    const before = readStoredPlants(server.database);
    await sendAs(protocol);
    for (const [values, field, says] of errors) {
      await fill({ Token: knownToken, Id: "7", ...values });
      requests.splice(0);
      await create();
      const error = expect.stringContaining(says);
      // The answer before may say the same.
      const shown = expect.poll(() => findFieldError(field), { timeout });
      await shown.toEqual({ error, isInvalid: true, isFocused: true });
      const answer = await findAnswer();
      expect(answer).toContain(says);
      const isSent = requests.some((url) => /\/(plants|CreatePlant)$/.test(url));
      expect(isSent).toBe(!answer.includes("Not sent"));
      await page.locator(`#${field}`).press("End");
      await page.locator(`#${field}`).pressSequentially("1");
      expect(await findFieldError(field)).toMatchObject({ error: "", isInvalid: false });
    }
    expect(readStoredPlants(server.database)).toEqual(before);
    requests.push(server.url);
  });

  test("a double click sends a plant once", async () => {
    await visit("/");
    await fill({ Token: knownToken, Id: "79" });
    await page.getByRole("button", { name: "Create the plant" }).dblclick();
    await findAnswer();
    expect(requests.filter((url) => url.endsWith("/plants"))).toHaveLength(1);
  });

  test("a fresh id is an id that nobody has used, in the form and on the wire", async () => {
    await visit("/");
    const seen = new Set<string>();
    for (const protocol of protocols) {
      await sendAs(protocol);
      await page.getByRole("button", { name: "Fresh id" }).click();
      const id = await page.getByLabel("Id", { exact: true }).inputValue();
      expect(BigInt(id)).toBe(BigInt.asUintN(63, BigInt(id)));
      seen.add(id);
      await page.getByLabel("Token").fill(knownToken);
      await create();
      await page.locator("#drawn").getByText(`id ${id}`).waitFor();
      expect(storedIds()).toContain(BigInt(id));
    }
    expect(seen.size).toBe(protocols.length);
  });

  test("the history has what was sent in this visit, and puts a plant back", async () => {
    await visit("/");
    const history = page.locator("#history");
    expect(await history.isVisible()).toBe(false);
    await fill({ Token: knownToken, Id: "500", Name: "Basil", Tag: "herb" });
    await create();
    await findAnswer();
    await sendAs("Connect");
    await fill({ Id: "500", Name: "\u202eMint".padEnd(9000, " wide"), Tag: "" });
    await create();
    await untilTaken();
    const rows = history.locator("tbody tr");
    const texts = async () => await rows.locator("td:not(:last-child)").allTextContents();
    expect((await texts()).slice(3)).toEqual([
      ...["Connect", "409 Conflict · ALREADY_EXISTS"],
      ...["500", "Basil", "herb", "REST", "200 OK"],
    ]);
    expect((await rows.first().boundingBox())?.height).toBeLessThan(60);

    await rows.last().getByRole("button", { name: "Fill in" }).click();
    expect(await page.getByLabel("Name").inputValue()).toBe("Basil");
    expect(await findFieldError("id")).toMatchObject({ error: "", isInvalid: false });
    for (let id = 510; id < 530; id++) {
      await page.getByLabel("Id", { exact: true }).fill(`${id}`);
      await create();
      await history.getByText(`${id}`, { exact: true }).waitFor();
    }
    expect(await rows.count()).toBe(20);
    expect(await texts()).not.toContain("500");
    await visit("/");
    expect(await history.isVisible()).toBe(false);
  });

  test("the keyboard alone is enough", async () => {
    await visit("/");
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
      return await page.evaluate(() => {
        const element = document.activeElement as HTMLInputElement | null;
        return element?.id || element?.value || element?.textContent?.trim() || "";
      });
    };
    const visited: string[] = [];
    for (let i = 0; i < 8; i++) visited.push(await press("Tab"));
    expect(visited).toEqual([
      ...["Skip to the form", "API reference", "openapi.json"],
      ...["rest", "token", "fresh", "id", "name"],
    ]);
    await press(..."12345".split("").map(() => "Shift+Tab"));
    expect(await press("Tab", "ArrowRight", "ArrowRight")).toBe("grpc-web");
    await press("Tab");
    await page.keyboard.type(knownToken);
    await press("Tab", "Tab");
    await page.keyboard.type("-7");
    await press("Enter");
    expect(await findAnswer()).toContain("200 OK");
    expect(storedIds()).toContain(-7n);
    expect(await press("Tab", "Tab", "Tab", "Tab")).toBe("again");
    await press("Enter");
    await page.getByText("still one plant").waitFor();
    expect(await press("Tab")).toBe("other");
    await press("Enter");
    await untilTaken();
    expect(await press("Tab", "Tab", "ArrowRight", "ArrowRight")).toBe("TypeScript");
    expect(await page.locator("#snippet").textContent()).toContain("createPlantClient");
  });

  const wide = { width: 1280, height: 844 };
  const narrow = { width: 390, height: 844 };

  test.each([
    ["a success", {}, ["#outcome", "#promise"]],
    ["an invalid id", { Id: "" }, ['label[for="id"]', "#id", "#id-error"]],
    ["an unknown token", { Token: unknown }, ['label[for="token"]', "#token", "#token-error"]],
  ])("on a narrow screen, %s is shown whole", async (_, values, shown) => {
    await page.setViewportSize(narrow);
    await createAs("gRPC-Web", { Id: "300", Name: "Basil", Tag: "herb", ...values });
    await findAnswer();
    for (const selector of shown) {
      const [top = -1, bottom = -1] = await page.locator(selector).evaluate((part) => {
        const box = part.getBoundingClientRect();
        return [box.top, innerHeight - box.bottom];
      });
      expect(Math.min(top, bottom), selector).toBeGreaterThanOrEqual(0);
    }
    await page.setViewportSize(wide);
  });

  test("the state of the service is live", async () => {
    await page.clock.install();
    await visit("/");
    const state = page.getByText("Ready for plants");
    await state.waitFor();
    await page.route("**/readyz", (route) => route.fulfill({ status: 503, body: "{}" }));
    await page.clock.runFor(6000);
    await page.getByText("Not ready").waitFor();
    await page.unroute("**/readyz");
    await page.clock.runFor(6000);
    await state.waitFor();
    expect(complaints.splice(0)).toEqual([`503 ${server.url}/readyz`]);
  });

  test("page and reference lead to each other", async () => {
    await visit("/");
    await page.getByRole("link", { name: "API reference" }).first().click();
    await page.getByText("creates a new plant in the store").waitFor();
    const heading = await page.getByRole("heading", { level: 2 }).first().textContent();
    expect(heading).toBe("POST /api/plants");
    // One operation is read on two screens or three, not on seven.
    expect(await page.evaluate("document.body.scrollHeight")).toBeLessThan(2600);
    await page.getByRole("link", { name: "Create a plant" }).first().click();
    await page.getByLabel("Token").waitFor();
  });

  test.each(
    ["/", "/docs"].flatMap((path) =>
      (["light", "dark"] as const).map((colorScheme) => ({ path, colorScheme })),
    ),
  )("$path in $colorScheme shuts nobody out, wide or narrow", async ({ path, colorScheme }) => {
    await page.emulateMedia({ colorScheme });
    if (path === "/docs") {
      await visit(path);
    } else {
      await createAs("gRPC-Web", { Id: "12", Name: "Basil", Tag: "herb" });
      await page.getByRole("button", { name: "Another plant, same id" }).click();
      await untilTaken();
    }
    await page.evaluate(axe);
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(scrolled).toBeLessThanOrEqual(width);
      const { violations } = await page.evaluate<AxeResults>("axe.run()");
      expect(
        violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`)),
      ).toEqual([]);
    }
  });
});
