import { execFile } from "node:child_process";

/**
 * Tells systemd that calls are served, for units of `Type=notify`. Node has no datagrams on Unix sockets, so
 * systemd's own program sends it: https://www.freedesktop.org/software/systemd/man/systemd-notify.html
 */
export function notifyReady(onError: (error: Error) => void): void {
  if (process.env["NOTIFY_SOCKET"] === undefined) return;
  execFile("systemd-notify", ["--ready"], (error) => {
    if (error !== null) onError(error);
  });
}
