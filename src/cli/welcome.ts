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

The same over gRPC${settings.reflection ? "" : ", where the proto files are"}:

  npx @bufbuild/buf curl${settings.reflection ? "" : " --schema proto"} --protocol grpc${http2} \\
    ${bearer} \\
    -d '{"plant": ${plant}}' \\
    ${rpc}

${tokenHint(settings.auth.tokenFile, firstToken !== undefined)}
`;
}

function tokenHint(file: string | undefined, isShown: boolean): string {
  const flag = file === "./data/tokens" ? "" : ` --token-file ${file}`;
  const command = `${programName()} token create NAME${flag}`;
  return isShown
    ? `This is the only time that the token is shown. To make another: ${command}`
    : `For $TOKEN: export TOKEN=$(${command})`;
}

/** What whoever started this types before a command. Through npm there is no other way than npm. */
function programName(): string {
  const { npm_lifecycle_event: event, npm_package_name: packageName } = process.env;
  if (event === undefined) return "plant-store";
  const isCheckout = event !== "npx" && packageName === "plant-store";
  return isCheckout ? "npm run -s plant-store --" : "npx plant-store";
}
