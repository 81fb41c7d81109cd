/** CreatePlant on connect-gateway alone, as REST and as a tool: no authentication, no store. */
import http from "node:http";
import { gatewayNodeAdapter } from "connect-gateway";
import { createMcp } from "connect-gateway/mcp";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { announce } from "./announce.ts";
import { routes } from "./connect-handler.ts";

const mcp = createMcp({ tools: [PlantService.typeName] });
announce(http.createServer(gatewayNodeAdapter({ routes, mcp })));
