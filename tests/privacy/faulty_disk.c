/* A disk that fails on demand, put between a program and the C library with LD_PRELOAD.

   Every operation that changes a file or a folder under fault_root counts as one. The one that was
   armed kills the process before it is done, kills it with half of it done, or fails; everything
   can be written to a record, so that a test can play any moment back. The clock can be moved. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { COUNT, KILL, TEAR, FAIL_ONCE, FAIL_ON, };

static char root[PATH_MAX];
static long left = -1, done;
static int mode, error, record = -1;
static long long clock_offset;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void fault_root(const char *path) { snprintf(root, sizeof root, "%s", path); }
void fault_arm(long at, int how, int number) { left = at; mode = how; error = number; done = 0; }
long fault_done(void) { return done; }
void fault_clock(long long seconds) { clock_offset = seconds; }

/* Operation, file number, offset or size, then the lengths of two texts and the texts. */
static void note(char what, ino_t file, long long number, const void *a, size_t na, const void *b,
                 size_t nb) {
    if (record < 0) return;
    long long head[] = {what, (long long)file, number, (long long)na, (long long)nb};
    if (REAL(write)(record, head, sizeof head) < 0 || REAL(write)(record, a, na) < 0
        || REAL(write)(record, b, nb) < 0) abort();
}

void fault_record(const char *path) {
    record = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}
void fault_mark(const char *text) { note('!', 0, 0, text, strlen(text), "", 0); }

static int inside(const char *path) {
    size_t n = strlen(root);
    return n && strncmp(path, root, n) == 0 && path[n] == '/';
}

static const char *full(int folder, const char *path, char *buffer) {
    if (path[0] == '/') return path;
    char link[64];
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, buffer, PATH_MAX - 1);
    if (n < 0) return path;
    snprintf(buffer + n, PATH_MAX - n, "/%s", path);
    return buffer;
}

static int of_interest(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return inside(path) || strcmp(path, root) == 0;
}

static ino_t number(int file) {
    struct stat status;
    return fstat(file, &status) ? 0 : status.st_ino;
}

/* Count an operation. Nonzero: it must fail. A torn one must be half done, then call die(). */
static int torn;
static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }
static int strikes(void) {
    int kept = errno;
    done++;
    torn = 0;
    if (left < 0 || mode == COUNT) return 0;
    if (left > 0) { left--; return 0; }
    if (mode == KILL) die();
    if (mode == TEAR) { torn = 1; errno = kept; return 0; }
    if (mode == FAIL_ONCE) left = -1;
    errno = error;
    return 1;
}

#define SIMPLE(here, call, noting) \
    if (!(here)) return call; \
    if (strikes()) return -1; \
    int dies = torn; \
    int result = call; \
    if (result == 0) { noting; } \
    if (dies) die(); \
    return result;

#define WRITE(name, offset_type) \
    ssize_t name(int file, const void *data, size_t size, offset_type offset) { \
        if (!of_interest(file)) return REAL(name)(file, data, size, offset); \
        if (strikes()) return -1; \
        int dies = torn; \
        ssize_t wrote = REAL(name)(file, data, dies ? (size + 1) / 2 : size, offset); \
        if (wrote > 0) note('w', number(file), offset, data, wrote, "", 0); \
        if (dies) die(); \
        return wrote; \
    }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)

ssize_t write(int file, const void *data, size_t size) {
    if (file == record || !of_interest(file)) return REAL(write)(file, data, size);
    if (strikes()) return -1;
    int dies = torn;
    off_t offset = lseek(file, 0, fcntl(file, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    ssize_t wrote = REAL(write)(file, data, dies ? (size + 1) / 2 : size);
    if (wrote > 0) note('w', number(file), offset, data, wrote, "", 0);
    if (dies) die();
    return wrote;
}

int fsync(int file) {
    SIMPLE(of_interest(file), REAL(fsync)(file), note('s', number(file), 0, "", 0, "", 0))
}
int fdatasync(int file) {
    SIMPLE(of_interest(file), REAL(fdatasync)(file), note('s', number(file), 0, "", 0, "", 0))
}
int ftruncate(int file, off_t size) {
    SIMPLE(of_interest(file), REAL(ftruncate)(file, size),
           note('t', number(file), size, "", 0, "", 0))
}
int ftruncate64(int file, off64_t size) {
    SIMPLE(of_interest(file), REAL(ftruncate64)(file, size),
           note('t', number(file), size, "", 0, "", 0))
}

#define ONE(what, path) note(what, 0, 0, path, strlen(path), "", 0)
#define TWO(what, a, b) note(what, 0, 0, a, strlen(a), b, strlen(b))

int unlink(const char *path) { SIMPLE(inside(path), REAL(unlink)(path), ONE('u', path)) }
int rmdir(const char *path) { SIMPLE(inside(path), REAL(rmdir)(path), ONE('u', path)) }
int unlinkat(int folder, const char *path, int flags) {
    char buffer[PATH_MAX];
    const char *whole = full(folder, path, buffer);
    SIMPLE(inside(whole), REAL(unlinkat)(folder, path, flags), ONE('u', whole))
}
int mkdir(const char *path, mode_t rights) {
    struct stat status;
    SIMPLE(inside(path), REAL(mkdir)(path, rights),
           note('m', stat(path, &status) ? 0 : status.st_ino, 0, path, strlen(path), "", 0))
}
int link(const char *a, const char *b) { SIMPLE(inside(b), REAL(link)(a, b), TWO('l', a, b)) }
int linkat(int fa, const char *a, int fb, const char *b, int flags) {
    char one[PATH_MAX], two[PATH_MAX];
    const char *from = full(fa, a, one), *to = full(fb, b, two);
    SIMPLE(inside(to), REAL(linkat)(fa, a, fb, b, flags), TWO('l', from, to))
}
int rename(const char *a, const char *b) { SIMPLE(inside(b), REAL(rename)(a, b), TWO('r', a, b)) }
int renameat(int fa, const char *a, int fb, const char *b) {
    char one[PATH_MAX], two[PATH_MAX];
    const char *from = full(fa, a, one), *to = full(fb, b, two);
    SIMPLE(inside(to), REAL(renameat)(fa, a, fb, b), TWO('r', from, to))
}

/* Opening counts if it makes a file or empties one. */
static int opens(int folder, const char *path, int flags, mode_t rights) {
    char buffer[PATH_MAX];
    const char *whole = full(folder, path, buffer);
    struct stat status;
    int there = stat(whole, &status) == 0;
    int makes = !there && (flags & O_CREAT), empties = there && (flags & O_TRUNC);
    if (!inside(whole) || !(makes || empties)) return REAL(openat)(folder, path, flags, rights);
    if (strikes()) return -1;
    int dies = torn;
    int file = REAL(openat)(folder, path, flags, rights);
    if (file >= 0) {
        if (makes) note('c', number(file), 0, whole, strlen(whole), "", 0);
        else note('t', number(file), 0, "", 0, "", 0);
    }
    if (dies) die();
    return file;
}
#define RIGHTS(last) \
    mode_t rights = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, last); \
        rights = va_arg(more, mode_t); \
        va_end(more); \
    }
int open(const char *path, int flags, ...) {
    RIGHTS(flags) return opens(AT_FDCWD, path, flags, rights);
}
int open64(const char *path, int flags, ...) {
    RIGHTS(flags) return opens(AT_FDCWD, path, flags | O_LARGEFILE, rights);
}
int openat(int folder, const char *path, int flags, ...) {
    RIGHTS(flags) return opens(folder, path, flags, rights);
}
int openat64(int folder, const char *path, int flags, ...) {
    RIGHTS(flags) return opens(folder, path, flags | O_LARGEFILE, rights);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int result = REAL(clock_gettime)(which, now);
    if (result == 0 && which == CLOCK_REALTIME) now->tv_sec += clock_offset;
    return result;
}
