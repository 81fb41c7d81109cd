/** SQLite's primary result codes, from 1 on (https://sqlite.org/rescode.html). */
const primaries =
  "ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB".split(
    " ",
  );

/** The suffixes of the extended codes of a primary one, from 1 on. */
const extensions: Readonly<Record<string, readonly string[]>> = {
  BUSY: "RECOVERY SNAPSHOT TIMEOUT".split(" "),
  CANTOPEN: "NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK".split(" "),
  CONSTRAINT:
    "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE".split(
      " ",
    ),
  CORRUPT: "VTAB SEQUENCE INDEX".split(" "),
  IOERR:
    "READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC DATA CORRUPTFS IN_PAGE".split(
      " ",
    ),
  READONLY: "RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY".split(" "),
};

/**
 * @param code An extended result code. The low byte is the primary code.
 * @returns SQLite's name for it, such as `SQLITE_IOERR_FSYNC` for 1034, or the number if it is
 * unknown here.
 */
export function resultCodeName(code: number): string {
  const primary = primaries[(code & 0xff) - 1];
  const extension = code >> 8;
  if (primary === undefined) return `SQLITE_${code}`;
  if (extension === 0) return `SQLITE_${primary}`;
  return `SQLITE_${primary}_${extensions[primary]?.[extension - 1] ?? extension}`;
}
