/** The parts of Kubernetes' objects that the tests of deploy/kubernetes look at. */
type Labels = Readonly<Record<string, string>>;

export interface Manifest<Spec = unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly spec: Spec;
}

interface Selector {
  readonly matchLabels: Labels;
}

export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

export interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: SecretKey };
  }[];
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly securityContext: unknown;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface DeploymentSpec {
  readonly strategy: { readonly rollingUpdate: { readonly maxSurge: number } };
  readonly selector: Selector;
  readonly template: {
    readonly metadata: { readonly labels: Labels };
    readonly spec: {
      readonly automountServiceAccountToken: boolean;
      readonly terminationGracePeriodSeconds: number;
      readonly securityContext: unknown;
      readonly topologySpreadConstraints: readonly { readonly labelSelector: Selector }[];
      readonly containers: readonly Container[];
      readonly volumes?: readonly { readonly name: string }[];
    };
  };
}

export interface ServiceSpec {
  readonly selector: Labels;
  readonly ports: readonly {
    readonly port: number;
    readonly targetPort: string;
    readonly appProtocol: string;
  }[];
}

/** Of an HTTPRoute or a GRPCRoute. */
export interface RouteSpec {
  readonly hostnames: readonly string[];
  readonly rules: readonly { readonly backendRefs: readonly unknown[] }[];
}

export interface IngressSpec {
  readonly tls: readonly { readonly hosts: readonly string[] }[];
  readonly rules: readonly {
    readonly host: string;
    readonly http: { readonly paths: readonly { readonly backend: unknown }[] };
  }[];
}

export interface BudgetSpec {
  readonly maxUnavailable: number;
  readonly selector: Selector;
}

export interface AutoscalerSpec {
  readonly scaleTargetRef: unknown;
  readonly minReplicas: number;
  readonly maxReplicas: number;
}

export interface PolicySpec {
  readonly podSelector: Selector;
  readonly ingress: readonly { readonly ports: readonly unknown[] }[];
  readonly egress: readonly { readonly ports: readonly unknown[] }[];
}
