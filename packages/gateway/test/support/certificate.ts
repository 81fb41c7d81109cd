import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A self-signed certificate for 127.0.0.1 and localhost, with its key. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** The certificate in PEM, which clients must trust. */
  readonly pem: string;
}

/** Whether this machine can create certificates: Node itself cannot. */
export const hasOpenssl: boolean = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

let shared: Certificate | undefined;

/** The same for all tests that change nothing of it: each takes a while to make. */
export function sharedCertificate(): Certificate {
  if (shared !== undefined) return shared;
  const folder = mkdtempSync(join(tmpdir(), "certificate-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  shared = createCertificate(folder, "one");
  return shared;
}

/**
 * Creates a certificate with the machine's OpenSSL, in the files NAME.crt and NAME.key.
 *
 * @param ca Signs it. Default: itself. @param isCa Whether it signs others, as one that signs itself does.
 */
export function createCertificate(
  folder: string,
  name: string,
  {
    days = 2,
    ca,
    isCa = ca === undefined,
  }: { readonly days?: number; readonly ca?: Certificate; readonly isCa?: boolean } = {},
): Certificate {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  const isLeaf = isCa ? [] : ["-addext", "basicConstraints=CA:FALSE"];
  const signed = ca === undefined ? [] : ["-CA", ca.certFile, "-CAkey", ca.keyFile];
  const files = ["-out", certFile, "-keyout", keyFile];
  const options = ["-days", String(days), ...key, ...subject, ...signed, ...isLeaf, ...files];
  execFileSync("openssl", ["req", "-x509", ...options], { stdio: "ignore" });
  // A server takes the files as they are: this is no option of it.
  const pem = { value: readFileSync(certFile, "utf8"), enumerable: false };
  return Object.defineProperty({ certFile, keyFile }, "pem", pem) as Certificate;
}
