/**
 * The program under test: reads the suite's requests from standard input and writes what the
 * gateway makes of each to standard output. Its argument names the way: `REST` or `Connect`.
 */
import { create, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type ConformanceRequest,
  ConformanceRequestSchema,
  type ConformanceResponse,
  ConformanceResponseSchema,
  TestCategory,
  WireFormat,
} from "../gen/conformance/conformance_pb.ts";
import { EchoService } from "../gen/echo_pb.ts";
import { ways } from "../way.ts";
import { readFrames, writeFrame } from "./frames.ts";
import { type Gateway, type Message, type Outcome, openGateway } from "./gateway.ts";

type Result = ConformanceResponse["result"];

const way = ways.find((name) => name === process.argv[2]);
if (way === undefined) throw new Error(`the argument must be one of ${ways.join(", ")}`);

const strict = await openGateway(way, false);
const lenient = await openGateway(way, true);
for await (const frame of readFrames(process.stdin)) {
  const result = await answer(fromBinary(ConformanceRequestSchema, frame));
  const response = create(ConformanceResponseSchema, { result });
  writeFrame(toBinary(ConformanceResponseSchema, response), process.stdout);
}
await Promise.all([strict.close(), lenient.close()]);

function answer(request: ConformanceRequest): Result | Promise<Result> {
  const { messageType, testCategory, payload, requestedOutputFormat: output } = request;
  if (output !== WireFormat.PROTOBUF && output !== WireFormat.JSON) return skipped("no output");
  const method = EchoService.methods.find(({ input }) => input.typeName === messageType);
  if (method === undefined) return { case: "runtimeError", value: `no method for ${messageType}` };
  // Only in these tests: a gateway that ignores unknown members ignores unknown enum names too,
  // and other tests expect those to be rejected.
  const gateway = testCategory === TestCategory.JSON_IGNORE_UNKNOWN_PARSING_TEST ? lenient : strict;
  switch (payload.case) {
    case "jsonPayload":
      return readJson(gateway, method, payload.value, output);
    case "protobufPayload":
      return output === WireFormat.JSON
        ? writeJson(gateway, method, payload.value)
        : skipped("no JSON in it");
    default:
      return skipped("no input");
  }
}

function skipped(value: string): Result {
  return { case: "skipped", value };
}

async function readJson(
  gateway: Gateway,
  method: DescMethod,
  json: string,
  output: WireFormat,
): Promise<Result> {
  const outcome = await gateway.call(method, json);
  if (outcome.received === undefined) return refusal(outcome);
  return output === WireFormat.PROTOBUF
    ? { case: "protobufPayload", value: toBinary(method.input, outcome.received) }
    : writtenJson(outcome);
}

async function writeJson(gateway: Gateway, method: DescMethod, bytes: Uint8Array): Promise<Result> {
  let message: Message;
  try {
    message = fromBinary(method.output, bytes);
  } catch (error) {
    return { case: "parseError", value: String(error) };
  }
  const outcome = await gateway.call(method, "{}", message);
  return outcome.received === undefined ? refusal(outcome) : writtenJson(outcome);
}

/** The result for a request that did not reach the method. */
function refusal({ status, text }: Outcome): Result {
  return { case: status === 400 ? "parseError" : "runtimeError", value: `${status} ${text}` };
}

/** The result for a method that has answered. */
function writtenJson({ status, text }: Outcome): Result {
  return status === 200
    ? { case: "jsonPayload", value: text }
    : { case: "serializeError", value: `${status} ${text}` };
}
