/** The official clients of the Model Context Protocol, with one face. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations?: object;
}

export interface McpResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

export interface McpClient extends AsyncDisposable {
  readonly version: string | undefined;
  /** All pages of the list. */
  listTools(): Promise<readonly McpTool[]>;
  call(name: string, args: object, options?: CallOptions): Promise<McpResult>;
}

export interface CallOptions {
  readonly onprogress?: (progress: { readonly progress: number }) => void;
  readonly signal?: AbortSignal;
}

const implementation = { name: "test", version: "0.0.0" };

/** Version 2 of the client, for servers of 2026-07-28. */
export async function openModern(url: string, headers: Record<string, string> = {}) {
  const mode = { pin: "2026-07-28" };
  const client = new ClientV2(implementation, { versionNegotiation: { mode } });
  await client.connect(new TransportV2(new URL(url), { requestInit: { headers } }));
  return clientOf(client, "2026-07-28");
}

/** Version 2 of the client, as its users have it by default: with a handshake. */
export async function openDefault(url: string, headers: Record<string, string> = {}) {
  const client = new ClientV2(implementation);
  await client.connect(new TransportV2(new URL(url), { requestInit: { headers } }));
  return clientOf(client, "2025-11-25");
}

/** Version 1 of the SDK, for servers of 2025-11-25 and before. */
export async function openLegacy(url: string, headers: Record<string, string> = {}) {
  const client = new ClientV1(implementation);
  const transport = new TransportV1(new URL(url), { requestInit: { headers } });
  await client.connect(transport as never);
  return clientOf(client, transport.protocolVersion);
}

/** A command that a client starts. Its standard error is that of the test. */
export interface Command {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

/** The same clients of a command, by standard input and output. */
export const stdioClients = [
  [
    "the client of 2026-07-28",
    async (of: Command) => {
      const mode = { pin: "2026-07-28" };
      const client = new ClientV2(implementation, { versionNegotiation: { mode } });
      await client.connect(new StdioV2({ ...of, stderr: "ignore" }));
      return clientOf(client, "2026-07-28");
    },
  ],
  [
    "the client of 2.x by default",
    async (of: Command) => {
      const client = new ClientV2(implementation);
      await client.connect(new StdioV2({ ...of, stderr: "ignore" }));
      return clientOf(client, "2025-11-25");
    },
  ],
  [
    "the client of 1.x",
    async (of: Command) => {
      const client = new ClientV1(implementation);
      await client.connect(new StdioV1({ ...of, stderr: "ignore" }));
      return clientOf(client, "2025-11-25");
    },
  ],
] as const;

type Official = Pick<ClientV1, "close"> & {
  listTools(params?: { cursor: string }): Promise<object>;
  callTool(params: { name: string; arguments: object }, ...rest: unknown[]): Promise<unknown>;
};

function clientOf(client: ClientV1 | ClientV2, version: string | undefined): McpClient {
  const official = client as unknown as Official;
  const isLegacy = client instanceof ClientV1;
  return {
    version,
    async listTools() {
      const tools: McpTool[] = [];
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; ) {
        isFirst = false;
        const page: { tools?: McpTool[]; nextCursor?: string } = await official.listTools(
          cursor === undefined ? undefined : { cursor },
        );
        for (const tool of page.tools ?? []) tools.push(tool);
        cursor = page.nextCursor;
      }
      return tools;
    },
    async call(name, args, options) {
      const params = { name, arguments: args };
      const rest = isLegacy ? [undefined, options] : [options];
      return (await official.callTool(params, ...rest)) as McpResult;
    },
    [Symbol.asyncDispose]: () => official.close(),
  };
}

export const clients = [
  ["the client of 2026-07-28", openModern],
  ["the client of 2.x by default", openDefault],
  ["the client of 1.x", openLegacy],
] as const;
