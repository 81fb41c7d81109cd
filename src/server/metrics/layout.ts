/** Memory layout of the counters: those of the gateway, then those of commits. */
import { MetricsLayout } from "connect-gateway/metrics";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";

export const layout = new MetricsLayout({
  nameOf: ({ name }) => name,
  names: PlantService.methods.map(({ name }) => name),
});

const commitSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Up to `batchRowsMax`. */
const commitRows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export const commitPlaces = {
  commitSeconds: layout.takeHistogram(commitSeconds),
  commitRows: layout.takeHistogram(commitRows),
  commitsFailed: layout.take(),
  queueRows: layout.takeGauge(),
  queueBytes: layout.takeGauge(),
} as const;
