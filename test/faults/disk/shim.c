/*
 * Preloaded into a process. Records its disk calls below one directory, in order and with all data.
 * Makes a call fail, shortens it or kills the process at it, as configured. One lock is held during
 * each call and its record, so that the order of the records is that of the calls.
 *
 * Settings, from the environment:
 *   DISK_ROOT      the directory; calls elsewhere are not affected
 *   DISK_LOG       the file to append records to (see call-log.ts for their form)
 *   DISK_SYNC_US   the additional duration of a sync, in microseconds
 *   DISK_KILL      the number of the call before which the process is killed
 *   DISK_FAULT     "CALL ERRNO SCOPE SHORT": from that call on (1 is the first),
 *                  with SCOPE 0 only that call, 1 the same kind of call on the
 *                  same file, 2 every call that needs space; with SHORT 1, a
 *                  write first writes its first half
 *   DISK_COUNT     "syncs": the numbers count syncs, not calls
 *   DISK_SWITCH    a file: while it is missing, nothing fails
 *   DISK_STALL     a file: while it exists, no sync ends
 * The file DISK_ROOT/acknowledged is recorded, but never counted, and never fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { START, OPEN, WRITE, SYNC, TRUNCATE, UNLINK, MKDIR, CLOSE, MAP, RENAME };

struct record {
  uint32_t call;
  int32_t descriptor;
  int64_t result; /* the result of the call, or -errno */
  int64_t number; /* offset of a write, size of a truncate, flags of an open */
  uint32_t path_bytes;
  uint32_t data_bytes;
};

enum { descriptors_max = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_bytes;
static const char *switch_path, *stall_path;
static int log_descriptor = -1;
static long sync_us, kill_at, fault_at, calls;
static int counts_syncs, fault_errno, fault_scope, fault_is_short;
static enum call fault_call;
static char fault_path[PATH_MAX];
static struct {
  char *path;
  dev_t device;
  ino_t inode;
} opened[descriptors_max];

static void append(enum call call, int descriptor, int64_t result, int64_t number,
                   const char *path, const void *data, size_t data_bytes) {
  if (log_descriptor < 0) return;
  int kept = errno;
  struct record record = {call, descriptor, result, number, path ? strlen(path) : 0, data_bytes};
  struct iovec parts[] = {{&record, sizeof record},
                          {(void *)path, record.path_bytes},
                          {(void *)data, data_bytes}};
  if (syscall(SYS_writev, log_descriptor, parts, 3) !=
      (long)(sizeof record + record.path_bytes + data_bytes))
    abort(); /* an incomplete record would prove something false */
  errno = kept;
}

__attribute__((constructor)) static void start(void) {
  const char *log = getenv("DISK_LOG");
  const char *fault = getenv("DISK_FAULT");
  root = getenv("DISK_ROOT");
  if (root == NULL || log == NULL) {
    root = NULL;
    return;
  }
  /* PostgreSQL overwrites its environment with the titles of its processes. */
  root = strdup(root);
  root_bytes = strlen(root);
  switch_path = getenv("DISK_SWITCH");
  stall_path = getenv("DISK_STALL") ? strdup(getenv("DISK_STALL")) : NULL;
  sync_us = getenv("DISK_SYNC_US") ? atol(getenv("DISK_SYNC_US")) : 0;
  kill_at = getenv("DISK_KILL") ? atol(getenv("DISK_KILL")) : 0;
  counts_syncs = getenv("DISK_COUNT") != NULL;
  if (fault)
    sscanf(fault, "%ld %d %d %d", &fault_at, &fault_errno, &fault_scope, &fault_is_short);
  log_descriptor =
      syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (log_descriptor < 0) abort();
  /* A high number: the process must get the same numbers as without the shim. */
  int moved = fcntl(log_descriptor, F_DUPFD_CLOEXEC, 900);
  if (moved >= 0) {
    syscall(SYS_close, log_descriptor);
    log_descriptor = moved;
  }
  append(START, -1, 0, 0, NULL, NULL, 0);
}

static int is_below(const char *path) {
  return root && path && strncmp(path, root, root_bytes) == 0 &&
         (path[root_bytes] == '/' || path[root_bytes] == 0);
}

/* Not every close is seen here, so a number may belong to another file by now. */
static const char *path_of(int descriptor) {
  struct stat now;
  if (root == NULL || descriptor < 0 || descriptor >= descriptors_max) return NULL;
  if (opened[descriptor].path == NULL || fstat(descriptor, &now) != 0) return NULL;
  if (now.st_dev != opened[descriptor].device || now.st_ino != opened[descriptor].inode)
    return NULL;
  return opened[descriptor].path;
}

static void remember(int descriptor, const char *path) {
  struct stat now;
  if (descriptor >= descriptors_max || fstat(descriptor, &now) != 0) abort();
  free(opened[descriptor].path);
  opened[descriptor].path = strdup(path);
  opened[descriptor].device = now.st_dev;
  opened[descriptor].inode = now.st_ino;
}

/* What is there already takes none: a full disk opens it, and says EEXIST for a directory. */
static int takes_space(enum call call, const char *path, int64_t number) {
  return call == WRITE || call == TRUNCATE ||
         ((call == MKDIR || (call == OPEN && (number & O_CREAT))) &&
          syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0);
}

/* The errno to fail with, or 0; the lock is held. */
static int next_fault(enum call call, const char *path, int64_t number) {
  if (strcmp(path + root_bytes, "/acknowledged") == 0 || call == CLOSE) return 0;
  int is_counted = call == SYNC || !counts_syncs;
  if (is_counted) calls++;
  if (is_counted && calls == kill_at) kill(getpid(), SIGKILL);
  int is_first = is_counted && calls == fault_at;
  if (is_first) {
    fault_call = call;
    strncpy(fault_path, path, sizeof fault_path - 1);
  }
  if (fault_at == 0 || calls < fault_at) return 0;
  if (switch_path && syscall(SYS_faccessat, AT_FDCWD, switch_path, F_OK) != 0) return 0;
  if (is_first) return fault_errno;
  if (fault_scope == 1 && call == fault_call && strcmp(path, fault_path) == 0) return fault_errno;
  if (fault_scope == 2 && takes_space(call, path, number)) return fault_errno;
  return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int open_recorded(int directory, const char *path, int flags, mode_t mode) {
  if (!is_below(path)) return syscall(SYS_openat, directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  int fault = next_fault(OPEN, path, flags);
  int result = -1;
  if (fault) errno = fault;
  else result = syscall(SYS_openat, directory, path, flags, mode);
  if (result >= 0) remember(result, path);
  append(OPEN, result, result < 0 ? -errno : result, flags, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

#define MODE_OF(flags)                                    \
  mode_t mode = 0;                                        \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {                \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    mode = va_arg(rest, mode_t);                          \
    va_end(rest);                                         \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int directory, const char *path, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(directory, path, flags | O_LARGEFILE, mode);
}
int __open_2(const char *path, int flags) { return open_recorded(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_recorded(AT_FDCWD, path, flags, 0); }

int close(int descriptor) {
  const char *path = path_of(descriptor);
  if (path == NULL) return syscall(SYS_close, descriptor);
  pthread_mutex_lock(&lock);
  append(CLOSE, descriptor, 0, 0, path, NULL, 0);
  free(opened[descriptor].path);
  opened[descriptor].path = NULL;
  int result = syscall(SYS_close, descriptor);
  pthread_mutex_unlock(&lock);
  return result;
}

/* offset < 0: at the descriptor's position. */
static ssize_t write_recorded(int descriptor, const void *data, size_t bytes, off64_t offset) {
  const char *path = path_of(descriptor);
  pthread_mutex_lock(&lock);
  int fault = path ? next_fault(WRITE, path, offset) : 0;
  ssize_t result = -1;
  if (fault && !(fault_is_short && bytes > 1 && calls == fault_at)) errno = fault;
  else {
    size_t wanted = fault ? bytes / 2 : bytes;
    result = offset < 0 ? syscall(SYS_write, descriptor, data, wanted)
                        : syscall(SYS_pwrite64, descriptor, data, wanted, offset);
  }
  if (result > 0 && offset < 0) offset = lseek64(descriptor, 0, SEEK_CUR) - result;
  append(WRITE, descriptor, result < 0 ? -errno : result, offset, path, data,
         result > 0 ? result : 0);
  pthread_mutex_unlock(&lock);
  return result;
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  if (path_of(descriptor) == NULL) return syscall(SYS_write, descriptor, data, bytes);
  return write_recorded(descriptor, data, bytes, -1);
}
ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t offset) {
  if (path_of(descriptor) == NULL) return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
  return write_recorded(descriptor, data, bytes, offset);
}
ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t offset) {
  return pwrite(descriptor, data, bytes, offset);
}

/* Each part is a separate write, which a caller must expect. */
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  if (path_of(descriptor) == NULL || count == 0) return REAL(writev)(descriptor, parts, count);
  return write_recorded(descriptor, parts[0].iov_base, parts[0].iov_len, -1);
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
  if (path_of(descriptor) == NULL || count == 0)
    return REAL(pwritev)(descriptor, parts, count, offset);
  return write_recorded(descriptor, parts[0].iov_base, parts[0].iov_len, offset);
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  return pwritev(descriptor, parts, count, offset);
}

static int sync_recorded(int descriptor, long call) {
  const char *path = path_of(descriptor);
  if (path == NULL) return syscall(call, descriptor);
  while (stall_path && syscall(SYS_faccessat, AT_FDCWD, stall_path, F_OK) == 0) usleep(20000);
  if (sync_us > 0) usleep(sync_us); /* time for a success that is reported too early */
  pthread_mutex_lock(&lock);
  int fault = next_fault(SYNC, path, 0);
  int result = -1;
  if (fault) errno = fault;
  else result = syscall(call, descriptor);
  append(SYNC, descriptor, result < 0 ? -errno : 0, 0, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int fsync(int descriptor) { return sync_recorded(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_recorded(descriptor, SYS_fdatasync); }

int ftruncate(int descriptor, off_t size) {
  const char *path = path_of(descriptor);
  if (path == NULL) return syscall(SYS_ftruncate, descriptor, size);
  pthread_mutex_lock(&lock);
  int fault = next_fault(TRUNCATE, path, size);
  int result = -1;
  if (fault) errno = fault;
  else result = syscall(SYS_ftruncate, descriptor, size);
  append(TRUNCATE, descriptor, result < 0 ? -errno : 0, size, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

int unlink(const char *path) {
  if (!is_below(path)) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&lock);
  int fault = next_fault(UNLINK, path, 0);
  int result = -1;
  if (fault) errno = fault;
  else result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  append(UNLINK, -1, result < 0 ? -errno : 0, 0, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  if (!is_below(path)) return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  pthread_mutex_lock(&lock);
  int fault = next_fault(MKDIR, path, 0);
  int result = -1;
  if (fault) errno = fault;
  else result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  append(MKDIR, -1, result < 0 ? -errno : 0, 0, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

/* Recorded so that the reader can refuse it: nobody here renames. */
int rename(const char *from, const char *to) {
  if (!is_below(from) && !is_below(to)) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  append(RENAME, -1, result < 0 ? -errno : 0, 0, from, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const char *path = path_of(descriptor);
  if (path == NULL)
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset);
  pthread_mutex_lock(&lock);
  int fault = next_fault(MAP, path, offset);
  void *result = MAP_FAILED;
  if (fault) errno = fault;
  else result = (void *)syscall(SYS_mmap, address, bytes, protection, flags, descriptor, offset);
  append(MAP, descriptor, result == MAP_FAILED ? -errno : 0, offset, path, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}
void *mmap64(void *address, size_t bytes, int protection, int flags, int descriptor,
             off64_t offset) {
  return mmap(address, bytes, protection, flags, descriptor, offset);
}
