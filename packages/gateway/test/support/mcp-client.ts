/** The official clients of the Model Context Protocol, with one face. */
import {
  type ClientOptions,
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

const v1 = () => new ClientV1(implementation);
const v2 = (options?: ClientOptions) => new ClientV2(implementation, options);
const pinned = () => v2({ versionNegotiation: { mode: { pin: "2026-07-28" } } });
const at = (url: string, headers: Record<string, string> = {}) =>
  [new URL(url), { requestInit: { headers } }] as const;

/** Version 2 of the client, for servers of 2026-07-28. */
export const openModern = (...server: Parameters<typeof at>) =>
  connect(pinned(), new TransportV2(...at(...server)), "2026-07-28");

/** Version 2 of the client, as its users have it by default: with a handshake. */
export const openDefault = (...server: Parameters<typeof at>) =>
  connect(v2(), new TransportV2(...at(...server)), "2025-11-25");

/** Version 1 of the SDK, for servers of 2025-11-25 and before. */
export const openLegacy = (...server: Parameters<typeof at>) =>
  connect(v1(), new TransportV1(...at(...server)));

/** A command that a client starts. Its standard error is that of the test. */
export interface Command {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

const quiet = (command: Command) => ({ ...command, stderr: "ignore" }) as const;

/** The same clients of a command, by standard input and output. */
export const stdioClients = [
  [
    "the client of 2026-07-28",
    (of: Command) => connect(pinned(), new StdioV2(quiet(of)), "2026-07-28"),
  ],
  [
    "the client of 2.x by default",
    (of: Command) => connect(v2(), new StdioV2(quiet(of)), "2025-11-25"),
  ],
  ["the client of 1.x", (of: Command) => connect(v1(), new StdioV1(quiet(of)), "2025-11-25")],
] as const;

type Official = Pick<ClientV1, "close"> & {
  listTools(params?: { cursor: string }): Promise<object>;
  callTool(params: { name: string; arguments: object }, ...rest: unknown[]): Promise<unknown>;
};

/** @param version Default: that of the handshake. */
async function connect(
  client: ClientV1 | ClientV2,
  transport: TransportV1 | TransportV2 | StdioV1 | StdioV2,
  version?: string,
): Promise<McpClient> {
  await client.connect(transport as never);
  return clientOf(client, version ?? (transport as TransportV1).protocolVersion);
}

function clientOf(client: ClientV1 | ClientV2, version: string | undefined): McpClient {
  const official = client as unknown as Official;
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
      const rest = client instanceof ClientV1 ? [undefined, options] : [options];
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
