import { type AdminListener, openAdmin, ServiceMetrics } from "connect-gateway/metrics";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { version } from "../version.ts";
import { type CommitMetrics, createCommitMetrics } from "./commit-metrics.ts";

export interface Admin {
  readonly metrics: ServiceMetrics;
  readonly commits: CommitMetrics;
  readonly listener: AdminListener;
  close(): Promise<void>;
}

/** Opens the metrics and the port that serves them. */
export async function openMetrics(place: {
  readonly host: string;
  readonly port: number;
}): Promise<Admin> {
  const metrics = new ServiceMetrics({
    prefix: "plant_store",
    version,
    nameOf: ({ name }) => name,
    names: PlantService.methods.map(({ name }) => name),
  });
  try {
    const commits = createCommitMetrics(metrics.registry);
    const listener = await openAdmin(place, metrics);
    const close = () => listener.close().finally(() => metrics.close());
    return { metrics, commits, listener, close };
  } catch (error) {
    metrics.close();
    throw error;
  }
}
