interface ListenError extends Error {
  readonly syscall?: string;
  readonly code?: string;
  readonly hostname?: string;
  readonly address?: string;
  readonly port?: number;
  /** Absent for that of the service. */
  readonly listener?: "admin";
}

/** Why a program cannot listen where it was told to, and the flag to change. Undefined for other errors. */
export function describeListenError(error: ListenError): string | undefined {
  const { syscall, address, port } = error;
  const flag = error.listener === "admin" ? "--admin" : "-";
  if (syscall === "getaddrinfo") {
    return `${error.hostname} cannot be resolved; choose another ${flag}-host`;
  }
  if (syscall !== "listen") return undefined;
  const place = `${address} port ${port}`;
  switch (error.code) {
    case "EADDRINUSE":
      return `${place} is in use; choose another with ${flag}-port, or 0 for any free one`;
    case "EACCES":
      return `${place} needs more permissions; choose a ${flag}-port above 1023`;
    case "EADDRNOTAVAIL":
      return `${address} is not an address of this machine; choose another ${flag}-host`;
    default:
      return `cannot listen on ${place}: ${error.message}`;
  }
}
