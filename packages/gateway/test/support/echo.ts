import type { ServiceImpl } from "@connectrpc/connect";
import { type EveryField, FieldService } from "../gen/library/v1/fields_pb.ts";
import { openGateway, type TestGatewayOptions } from "./gateway.ts";

/** A service of fields, of which only these methods are of interest. Default: it echoes. */
export function openFields(
  fields: Partial<ServiceImpl<typeof FieldService>> = createEchoService(),
  options: Partial<TestGatewayOptions> = {},
) {
  return openGateway({ routes: (router) => router.service(FieldService, fields), ...options });
}

/** A FieldService that returns what it receives, and records it. */
export interface EchoService extends ServiceImpl<typeof FieldService> {
  /** Every message that has reached the implementation. */
  readonly received: readonly EveryField[];
}

export function createEchoService(): EchoService {
  const received: EveryField[] = [];
  function keep(message: EveryField): EveryField {
    received.push(message);
    return message;
  }
  return {
    received,
    echo: keep,
    async collect(messages) {
      let last: EveryField | undefined;
      for await (const message of messages) last = keep(message);
      return last ?? {};
    },
    async *repeat(message) {
      yield keep(message);
      yield message;
    },
    async *exchange(messages) {
      for await (const message of messages) yield keep(message);
    },
  };
}
