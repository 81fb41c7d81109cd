import {
  exchange,
  type HttpRequest,
  type HttpResponse,
} from "../../packages/gateway/test/support/http-exchange.ts";
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
