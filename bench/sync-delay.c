/* Preloaded into a server: each fsync and fdatasync takes SYNC_DELAY_MS longer, as if the disk were slow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef int sync_call(int);

static void delay(void) {
    const char *text = getenv("SYNC_DELAY_MS");
    long ms = text ? atol(text) : 0;
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

static int delayed(const char *name, int file) {
    sync_call *call = (sync_call *)dlsym(RTLD_NEXT, name);
    int result = call(file);
    int error = errno;
    delay();
    errno = error;
    return result;
}

int fsync(int file) {
    return delayed("fsync", file);
}

int fdatasync(int file) {
    return delayed("fdatasync", file);
}
