import type { CallEnding, CallObservation, CallObserver } from "./observer.ts";

/**
 * One observer that stands for several, in their order. What one of them throws
 * goes to `onError`, and the others are told all the same.
 *
 * @returns the only one itself, which costs nothing; undefined for none.
 */
export function composeObservers(
  observers: readonly CallObserver[],
  onError: (error: unknown) => void,
): CallObserver | undefined {
  if (observers.length < 2) return observers[0];

  function each<T, U>(all: readonly T[], tell: (one: T) => U): U[] {
    const said: U[] = [];
    for (const one of all) {
      try {
        said.push(tell(one));
      } catch (error) {
        onError(error);
      }
    }
    return said;
  }

  return {
    begin(request) {
      const observations = each(observers, (observer) => observer.begin(request)).filter(
        (observation) => observation !== undefined,
      );
      return {
        responseHeader: mergeHeaders(observations),
        calling: (values) => void each(observations, (one) => one.calling?.(values)),
        end: (ending: CallEnding) => void each(observations, (one) => one.end(ending)),
      };
    },
  };
}

function mergeHeaders(observations: readonly CallObservation[]): CallObservation["responseHeader"] {
  const headers = observations.flatMap(({ responseHeader }) =>
    Object.entries(responseHeader ?? {}),
  );
  return headers.length === 0 ? undefined : Object.fromEntries(headers);
}
