import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { RunningServer } from "../server/start.ts";
import { version } from "../server/version.ts";
import { describeStoreUrl } from "../store/open.ts";

/** What a start prints: what listens where, and lines to paste. */
export function welcome({ url, metricsUrl, settings, firstToken }: RunningServer): string {
  const rpc = `${url}/${PlantService.typeName}/${PlantService.method.createPlant.name}`;
  const token = firstToken ?? "$TOKEN";
  const bearer = `-H "Authorization: Bearer ${token}"`;
  const plant = '{"id": 1, "name": "Basil", "tag": "herb"}';
  const http2 = settings.tls === undefined ? " --http2-prior-knowledge" : "";
  return `plant-store ${version} listens on ${url}
  REST                      POST ${url}/plants
  gRPC, gRPC-Web, Connect   ${rpc}
  store                     ${describeStoreUrl(settings.store)}
  tokens                    ${settings.auth.tokenFile}${metricsUrl === undefined ? "" : `\n  metrics                   ${metricsUrl}`}

Create a plant:

  curl -X POST ${url}/plants \\
    ${bearer} \\
    -H "Content-Type: application/json" \\
    -d '${plant}'

The same over gRPC, where the proto files are:

  npx buf curl --schema proto --protocol grpc${http2} \\
    ${bearer} \\
    -d '{"plant": ${plant}}' \\
    ${rpc}

${tokenHint(settings.auth.tokenFile, firstToken !== undefined)}
`;
}

function tokenHint(file: string | undefined, isShown: boolean): string {
  // In a checkout, commands run through npm.
  const program = process.env["npm_lifecycle_event"] ? "npm run -s plant-store --" : "plant-store";
  const flag = file === "./data/tokens" ? "" : ` --token-file ${file}`;
  const command = `${program} token create NAME${flag}`;
  return isShown
    ? `This is the only time that the token is shown. To make another: ${command}`
    : `For $TOKEN: export TOKEN=$(${command})`;
}
