/** The server that the conformance suite calls. */
import { createServer } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import { gatewayNodeAdapter } from "../../../src/index.ts";
import { createMcp } from "../../../src/mcp/index.ts";
import { ToolService } from "../../gen/library/v1/tools_pb.ts";

const utf8 = new TextEncoder();

const handler = gatewayNodeAdapter({
  routes(router) {
    router.service(ToolService, {
      testSimpleText: () => ({ contentType: "text/plain", data: utf8.encode("A text.") }),
      testImageContent: () => ({ contentType: "image/png", data: utf8.encode("a picture") }),
      testAudioContent: () => ({ contentType: "audio/wav", data: utf8.encode("a sound") }),
      testEmbeddedResource: () => ({ contentType: "application/pdf", data: utf8.encode("a file") }),
      testErrorHandling() {
        throw new ConnectError("it always fails", Code.FailedPrecondition);
      },
      async *testToolWithProgress() {
        for (const text of ["one", "two", "three"]) yield { text };
      },
      testLoggingTool: () => ({ text: "nothing is logged" }),
      testStreamingElicitation: () => ({ text: "nothing is asked for" }),
    });
  },
  mcp: createMcp({ tools: [ToolService.typeName] }),
});

export const server = createServer(handler);
