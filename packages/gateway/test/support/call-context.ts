import { CallContext } from "../../src/rpc/context.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { createMemoryExchange } from "./memory-exchange.ts";

/** The context of a call without a network. Default: of Echo, without a deadline. */
export function createCallContext(
  init: Partial<ConstructorParameters<typeof CallContext>[0]> = {},
): CallContext {
  return new CallContext({
    exchange: createMemoryExchange(),
    method: FieldService.method.echo,
    protocolName: "test",
    timeoutMs: undefined,
    shutdownSignal: undefined,
    contextValues: undefined,
    responseHeader: {},
    responseTrailer: {},
    ...init,
  });
}
