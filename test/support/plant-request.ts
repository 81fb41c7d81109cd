import {
  exchange,
  type HttpRequest,
  type HttpResponse,
} from "../../packages/gateway/test/support/exchange.ts";
import {
  openRawConnection,
  type RawConnection,
} from "../../packages/gateway/test/support/raw-connection.ts";
import { knownToken } from "./test-server.ts";

export const authorization = `Bearer ${knownToken}`;
export const plantHeaders = { authorization, "content-type": "application/json" };
export const basil = '{"id":1,"name":"Basil"}';

/** @param request What differs from a valid request over HTTP/1.1. */
export function postPlant(
  origin: string,
  request: Partial<HttpRequest> = {},
): Promise<HttpResponse> {
  const headers = { ...plantHeaders, ...request.headers };
  return exchange({ version: "1.1", path: "/plants", body: basil, ...request, origin, headers });
}

/** Creates a plant. @returns the HTTP status. */
export async function statusOfCreate(url: string, id: number, token = knownToken): Promise<number> {
  const { origin, pathname } = new URL(url);
  const headers = { authorization: `Bearer ${token}` };
  const path = `${pathname.replace(/\/$/, "")}/plants`;
  return (await postPlant(origin, { headers, path, body: `{"id":${id},"name":"Basil"}` })).status;
}

export function get(
  origin: string,
  path: string,
  version: HttpRequest["version"] = "1.1",
): Promise<HttpResponse> {
  return exchange({ origin, version, method: "GET", path });
}

export function plantOverHttp1(body: string, ...more: readonly string[]): string {
  const fields = ["Host: a", `Authorization: ${authorization}`, "Content-Type: application/json"];
  const all = [...fields, `Content-Length: ${body.length}`, ...more];
  return `POST /plants HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n${body}`;
}

/** Sends bytes that expect 100-continue. The 100 tells that the request is under way. */
export async function openExpecting(port: number, bytes: string): Promise<RawConnection> {
  const connection = await openRawConnection(port);
  connection.write(bytes);
  await connection.until("100 Continue", (received) => received.includes("100 Continue"));
  return connection;
}
