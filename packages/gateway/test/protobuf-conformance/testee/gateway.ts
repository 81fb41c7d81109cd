/** The echo service behind the gateway, on a loopback port. */
import {
  createRegistry,
  type DescMessage,
  type DescMethod,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { serve } from "../../../src/server/index.ts";
import { EchoService, file_echo } from "../gen/echo_pb.ts";
import type { Way } from "../way.ts";

export type Message = MessageShape<DescMessage>;

export interface Gateway {
  /**
   * Calls a method with JSON.
   *
   * @param answer The method's answer. Default: its request.
   */
  call(method: DescMethod, json: string, answer?: Message): Promise<Outcome>;
  close(): Promise<void>;
}

/** The result of a call. */
export interface Outcome {
  /** Undefined if the method was not called. */
  readonly received: Message | undefined;
  readonly status: number;
  readonly text: string;
}

/** Resolves types of `Any` and extensions: the suite's own and those of protobuf. */
const files = file_echo.dependencies;
const registry = createRegistry(...files, ...files.flatMap(({ dependencies }) => dependencies));

export async function openGateway(way: Way, ignoreUnknownFields: boolean): Promise<Gateway> {
  let received: Message | undefined;
  let given: Message | undefined;
  const echo = (request: Message) => {
    received = request;
    return given ?? request;
  };
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    routes: (router) => {
      const methods = EchoService.methods.map(({ localName }) => [localName, echo]);
      router.service(EchoService, Object.fromEntries(methods) as ServiceImpl<typeof EchoService>);
    },
    jsonOptions: { registry, ignoreUnknownFields },
    rest: { rules: EchoService.methods.map(restRule), ignoreUnknownFields },
    // The suite reports what went wrong.
    onError: () => {},
  });

  return {
    async call(method, json, answer) {
      received = undefined;
      given = answer;
      const path = way === "REST" ? restPath(method) : `/${method.parent.typeName}/${method.name}`;
      const response = await fetch(`http://127.0.0.1:${server.address.port}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: json,
      });
      return { received, status: response.status, text: await response.text() };
    },
    close: () => server.drain(0),
  };
}

function restRule(method: DescMethod) {
  return {
    selector: `${method.parent.typeName}.${method.name}`,
    pattern: { case: "post", value: restPath(method) },
    body: "*",
  } as const;
}

function restPath({ name }: DescMethod): string {
  return `/v1/${name}`;
}
