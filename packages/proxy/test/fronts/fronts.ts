/** nginx, HAProxy and Caddy with the files of docs/behind.md, at ports and with a certificate of the tests. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isListening } from "../../../gateway/test/support/is-listening.ts";
import { environment } from "../../../gateway/test/support/tool.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/behind.md"), "utf8");

/** Where it runs, and what it runs with. */
export interface Place {
  readonly folder: string;
  readonly port: number;
  /** Of the command behind it. */
  readonly gatewayPort: number;
  /** Certificate and key in one file. */
  readonly pemFile: string;
}

export interface Front {
  readonly name: string;
  readonly program: readonly [string, ...string[]];
  readonly file: string;
  /** Makes of the page's file all that the program needs. */
  complete(text: string, place: Place): string;
}

const nginx = ["nginx", "-e", "stderr", "-p", ".", "-c", "nginx.conf"] as const;

const nginxWith = (server: string) => `daemon off;
master_process off;
pid nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  ${server}
}
`;

export const fronts: readonly Front[] = [
  { name: "nginx", program: nginx, file: "api.conf", complete: (text) => nginxWith(text) },
  {
    name: "HAProxy",
    program: ["haproxy", "-db", "-f", "haproxy.cfg"],
    file: "haproxy.cfg",
    complete: (text) => text,
  },
  {
    name: "Caddy",
    program: ["caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"],
    file: "Caddyfile",
    complete: (text, { port, pemFile }) =>
      `{\nadmin off\nauto_https disable_redirects\n}\n${text.replace(
        "api.example.com {",
        `https://127.0.0.1:${port} {\ntls ${pemFile} ${pemFile}`,
      )}`,
  },
];

/** nginx as it comes, which speaks HTTP/1.0 to what is behind it and keeps responses in a buffer. */
export const plainNginx: Front = {
  name: "nginx with its defaults",
  program: nginx,
  file: "api.conf",
  complete: (text) =>
    nginxWith(`${text.slice(0, text.indexOf("client_max_body_size"))}
      location / { ${/proxy_pass http:[^;]+;/.exec(page)?.[0]} }
    }`),
};

export function isInstalled({ program: [file] }: Front): boolean {
  return spawnSync(file, ["-v"], { stdio: "ignore" }).error === undefined;
}

/** Runs it until the end of an `await using`. */
export async function startFront(front: Front, place: Place): Promise<AsyncDisposable> {
  const shown = new RegExp(`^\`\`\`\\w+\n# ${front.file}\n([^]*?)^\`\`\`$`, "m").exec(page)?.[1];
  if (shown === undefined) throw new Error(`the page has no ${front.file}`);
  const text = front
    .complete(shown, place)
    .replaceAll(":8080", `:${place.gatewayPort}`)
    .replaceAll(/(?<=listen |bind :)443/g, String(place.port))
    .replaceAll(/\/etc\/ssl\/api\.\w+/g, place.pemFile);
  const [program, ...args] = front.program;
  await writeFile(join(place.folder, args.at(-1) ?? ""), text);
  const child = spawn(program, args, {
    cwd: place.folder,
    env: { ...environment, HOME: place.folder, XDG_DATA_HOME: place.folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  while (!(await isListening(place.port))) {
    if (child.exitCode !== null) throw new Error(`${front.name} ended: ${errors}`);
    await delay(10);
  }
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
