import type { ReportProblem } from "./problem.ts";
import { readTokenFile, statTokenFile, type TokenFileContent } from "./token-file-read.ts";

export interface TokenFileWatchOptions {
  readonly file: string;
  /** The version that the caller knows already. */
  readonly version: string;
  readonly onChange: (content: TokenFileContent) => void;
  /** Told once when the file becomes unreadable, not at every look. */
  readonly report: ReportProblem;
}

export interface TokenFileWatch {
  /** Looks at the file now. Settles behind a look that began after the call, and never rejects. */
  look(): Promise<void>;
  close(): void;
}

/** How often the file is looked at: a revoked token stops working within a second, with a margin. */
const intervalMs = 250;

/**
 * Tells of each change of a token file: appended to, edited, replaced, deleted,
 * made again. Does not keep the process alive.
 *
 * Polls. Notifications (`fs.watch`) follow an inode, not a path: they miss a
 * file that is replaced, a symbolic link that is switched (so do mounted
 * Kubernetes secrets change), and all that other machines do on a network
 * drive. A look is one `stat`, off the event loop. Unlike `fs.watchFile`, the
 * version is that of the bytes that were read, so a change between the look and
 * the reading is not lost; and two looks never overlap, however slow the disk.
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

  /** One that is under way may have missed what is asked for; all who come meanwhile share the next. */
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
