import type { Interceptor } from "@connectrpc/connect";

const blind = new WeakSet<Interceptor>();

/** Marks an interceptor that looks into no message. Behind others, nothing is passed on unread. */
export function blindInterceptor(interceptor: Interceptor): Interceptor {
  blind.add(interceptor);
  return interceptor;
}

export function areBlind(interceptors: readonly Interceptor[]): boolean {
  return interceptors.every((one) => blind.has(one));
}
