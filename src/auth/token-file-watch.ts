import type { ReportProblem } from "./problem.ts";
import { readTokenFile, statTokenFile, type TokenFileContent } from "./token-file-read.ts";

export interface TokenFileWatchOptions {
  readonly file: string;
  /** The version that the caller already has. */
  readonly version: string;
  readonly onChange: (content: TokenFileContent) => void;
  /** Called once when the file becomes unreadable, not at every check. */
  readonly report: ReportProblem;
}

export interface TokenFileWatch {
  /** Checks the file now. Resolves after a check that began after the call, and never rejects. */
  look(): Promise<void>;
  close(): void;
}

/** How often the file is checked. A revoked token stops working within a second, with a margin. */
const intervalMs = 250;

/**
 * Reports each change of a token file: appended to, edited, replaced, deleted, recreated. Does not
 * keep the process alive.
 *
 * Polls the file. Notifications (`fs.watch`) follow an inode, not a path. They miss a file that is
 * replaced, a symbolic link that is switched (as in mounted Kubernetes secrets), and all changes
 * that other machines make on a network drive. A check is one `stat`, off the event loop. Unlike
 * `fs.watchFile`, the version belongs to the bytes that were read, so a change between the check
 * and the read is not lost. Two checks never overlap, however slow the disk.
 */
export function watchTokenFile(options: TokenFileWatchOptions): TokenFileWatch {
  const { file, onChange, report } = options;
  let version = options.version;
  let reported: string | undefined;
  let closed = false;
  let current: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  let timer = schedule();
  return {
    look,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };

  function schedule(): NodeJS.Timeout {
    return setTimeout(async () => {
      await look();
      if (!closed) timer = schedule();
    }, intervalMs).unref();
  }

  /**
   * A running check may miss the change that the caller asks about. All callers in the meantime
   * share the next check.
   */
  function look(): Promise<void> {
    if (following !== undefined) return following;
    if (current === undefined) return begin();
    following = current.then(() => {
      following = undefined;
      return begin();
    });
    return following;
  }

  function begin(): Promise<void> {
    current = lookOnce().finally(() => {
      current = undefined;
    });
    return current;
  }

  async function lookOnce(): Promise<void> {
    if (closed) return;
    try {
      if ((await statTokenFile(file)) !== version) {
        const content = await readTokenFile(file);
        if (closed) return;
        version = content.version;
        onChange(content);
      }
      reported = undefined;
    } catch (error) {
      const message = error instanceof Error ? error.message : `${file}: cannot be read`;
      if (!closed && message !== reported) report(message, error);
      reported = message;
    }
  }
}
