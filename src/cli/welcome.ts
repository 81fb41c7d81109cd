import { describeReach } from "connect-gateway-kit/settings";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { RunningServer } from "../server/start.ts";
import { describeStoreUrl } from "../server/store-url.ts";
import { tokenCommand } from "../server/token-command.ts";
import { version } from "../server/version.ts";

/** The line of JSON in place of {@link welcome}. */
export function listeningEvent(server: RunningServer): object {
  const { url, metricsUrl, settings, isNewStore } = server;
  return {
    event: "listening",
    version,
    address: url,
    host: settings.host,
    protocols: ["rest", "grpc", "grpc-web", "connect"],
    store: describeStoreUrl(settings.store),
    isNewStore,
    mcp: settings.mcp ? `${url}/mcp` : undefined,
    tokenFile: settings.auth.tokenFile,
    metrics: metricsUrl,
  };
}

export function welcome(server: RunningServer): string {
  const { url, metricsUrl, settings, isNewStore, firstToken } = server;
  const rpc = `${url}/${PlantService.typeName}/${PlantService.method.createPlant.name}`;
  const places: Readonly<Record<string, string | false | undefined>> = {
    page: settings.page && `open ${url} in a browser`,
    reference: settings.page && `${url}/docs`,
    REST: `POST ${url}/plants`,
    "gRPC, gRPC-Web, Connect": rpc,
    MCP: settings.mcp && `${url}/mcp`,
    store: describeStoreUrl(settings.store) + (isNewStore ? " (created now)" : ""),
    tokens: settings.auth.tokenFile,
    metrics: metricsUrl,
  };
  const listed = Object.entries(places).filter(([, place]) => place);
  const bearer = `-H "Authorization: Bearer ${firstToken ?? "$TOKEN"}"`;
  const plant = '{"id": 1, "name": "Basil", "tag": "herb"}';
  const http2 = settings.tls === undefined ? " --http2-prior-knowledge" : "";
  const create = tokenCommand(settings.auth.tokenFile);
  return `plant-store ${version} listens on ${url}${describeReach(settings.host)}
${listed.map(([name, place]) => `  ${name.padEnd(26)}${place}\n`).join("")}
${
  firstToken === undefined
    ? `Make a token:

  export TOKEN=$(${create} "me-$(date +%s)")

`
    : ""
}Create a plant:

  curl -X POST ${url}/plants \\
    ${bearer} \\
    -H "Content-Type: application/json" \\
    -d '${plant}'

The same over gRPC${settings.reflection ? "" : ", where the proto files are"}:

  npx @bufbuild/buf curl${settings.reflection ? "" : " --schema proto"} --protocol grpc${http2} \\
    ${bearer} \\
    -d '{"plant": ${plant}}' \\
    ${rpc}

${firstToken === undefined ? "" : `The token is shown only this time. To make another: ${create} NAME\n`}`;
}
