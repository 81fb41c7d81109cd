/** deploy/compose.yaml agrees with itself, with the code, and with .env.example. */
import { expect, test } from "vitest";
import { parsePostgresUrl } from "../../src/server/postgres-url.ts";
import {
  expectSettings,
  port,
  readDeployFile,
  readYaml,
  stateFolder,
  stopSecondsMax,
} from "./facts.ts";

const compose = readYaml("compose.yaml");
const { "plant-store": app, db } = compose.services;
const variables = new Map<string, string>(Object.entries(app.environment));

test("the settings exist, and the store is the database beside it", async () => {
  await expectSettings(variables);
  const url = variables.get("PLANT_STORE_STORE") ?? "";
  const { hosts, user, database } = parsePostgresUrl(url.replace(/^postgres:/, ""));
  expect(Object.keys(compose.services)).toContain(hosts[0]?.name);
  expect(user).toBe(db.environment["POSTGRES_USER"]);
  expect(database).toBe(db.environment["POSTGRES_DB"]);
  expect(app.environment["PGPASSWORD"]).toBe(db.environment["POSTGRES_PASSWORD"]);
  expect(db.environment["POSTGRES_INITDB_ARGS"]).toContain("UTF8");
});

test("every secret is a variable of .env.example, and has no value there", () => {
  const example = readDeployFile(".env.example");
  const used = readDeployFile("compose.yaml").match(/(?<=\$\{)\w+(?=:\?)/g);
  const offered = [...example.matchAll(/^(\w+)=(.*)$/gm)];
  expect(new Set(offered.map(([, name]) => name))).toEqual(new Set(used));
  expect(offered.map(([, , value]) => value)).toEqual(["", ""]);
});

test("the server waits for a healthy database, and is given time to drain", () => {
  expect(app.depends_on).toEqual({ db: { condition: "service_healthy" } });
  expect(db.healthcheck.test[0]).toBe("CMD");
  expect(Number.parseInt(app.stop_grace_period, 10)).toBeGreaterThan(stopSecondsMax);
});

test("only this machine reaches the server, and nobody the database", () => {
  expect(app.ports).toEqual([`127.0.0.1:${port}:${port}`]);
  expect(db.ports).toBeUndefined();
  const shared = app.networks.filter((name: string) => db.networks.includes(name));
  expect(shared).toEqual(db.networks);
  for (const name of db.networks) expect(compose.networks[name]).toEqual({ internal: true });
});

test.each(["plant-store", "db"])(
  "%s has a read-only root, no capabilities that it does not name, and volumes that exist",
  (name) => {
    const service = compose.services[name];
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(["ALL"]);
    expect(service.security_opt).toEqual(["no-new-privileges:true"]);
    expect(service.volumes).toHaveLength(1);
    for (const volume of service.volumes) {
      expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0]);
    }
  },
);

test("the state's volume is where the image writes", () => {
  expect(app.volumes[0].split(":")[1]).toBe(stateFolder);
});
