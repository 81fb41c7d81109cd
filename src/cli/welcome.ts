import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { RunningServer } from "../server/start.ts";
import { version } from "../server/version.ts";
import { describeStoreUrl } from "../store/open.ts";

/** What a start prints: what listens where, and commands to paste. */
export function welcome({ url, metricsUrl, settings, firstToken }: RunningServer): string {
  const rpc = `${url}/${PlantService.typeName}/${PlantService.method.createPlant.name}`;
  const places: Readonly<Record<string, string | false | undefined>> = {
    page: settings.page && `open ${url} in a browser`,
    reference: settings.page && `${url}/docs`,
    REST: `POST ${url}/plants`,
    "gRPC, gRPC-Web, Connect": rpc,
    store: describeStoreUrl(settings.store),
    tokens: settings.auth.tokenFile,
    metrics: metricsUrl,
  };
  const listed = Object.entries(places).filter(([, place]) => place);
  const bearer = `-H "Authorization: Bearer ${firstToken ?? "$TOKEN"}"`;
  const plant = '{"id": 1, "name": "Basil", "tag": "herb"}';
  const http2 = settings.tls === undefined ? " --http2-prior-knowledge" : "";
  const create = tokenCommand(settings.auth.tokenFile);
  return `plant-store ${version} listens on ${url}
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

function tokenCommand(file: string | undefined): string {
  const flag = file === "./data/tokens" ? "" : ` --token-file ${file}`;
  return `${programName()} token create${flag}`;
}

/** What whoever started this types before a command. Through npm there is no other way than npm. */
function programName(): string {
  const { npm_lifecycle_event: event, npm_package_name: packageName } = process.env;
  if (event === undefined) return "plant-store";
  const isCheckout = event !== "npx" && packageName === "plant-store";
  return isCheckout ? "npm run -s plant-store --" : "npx plant-store";
}
