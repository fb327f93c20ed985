/*
 * Records what a process writes and syncs below one folder, in order, and injects faults. Loaded with
 * LD_PRELOAD into the program under test; recording.ts compiles it and reads the trace.
 *
 *   RECORDER_FOLDER   absolute path; only files below it are recorded
 *   RECORDER_TRACE    file to append the trace to
 *
 * A write to <folder>/…/control sets the next fault instead of being recorded:
 * "<write|sync|none> <end of the path> <skip> <times> <errno>". Syncs are not passed to the disk: what a sync
 * guarantees is decided when the trace is replayed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FILES 4096
#define MAX_PATH 1024

enum kind { OPEN = 1, CLOSE, WRITE, TRUNCATE, SYNC, MAKE_FOLDER, UNLINK, RENAME, LINK };

/* Little-endian, followed by `length` bytes of data. recording.ts reads the same layout. */
struct record {
  uint32_t kind;
  int32_t fd;
  int32_t error;
  uint32_t flags;
  uint64_t offset;
  uint32_t length;
  uint32_t unused;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char paths[MAX_FILES][MAX_PATH];
static int trace = -1;
static const char *folder;
static struct { char op[8], suffix[64]; int skip, times, error; } fault;

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void) {
  const char *file = getenv("RECORDER_TRACE");
  folder = getenv("RECORDER_FOLDER");
  unsetenv("LD_PRELOAD"); /* Processes that the program starts only read. */
  if (file && folder) trace = syscall(SYS_open, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int ends_with(const char *path, const char *end) {
  size_t a = strlen(path), b = strlen(end);
  return a >= b && strcmp(path + a - b, end) == 0;
}

static int is_recorded(const char *path) {
  size_t length = folder ? strlen(folder) : 0;
  return trace >= 0 && path && strncmp(path, folder, length) == 0 &&
         (path[length] == '/' || path[length] == 0) && !ends_with(path, "-shm") && strlen(path) < MAX_PATH;
}

static const char *path_of(int fd) {
  return fd >= 0 && fd < MAX_FILES && paths[fd][0] ? paths[fd] : NULL;
}

static void put(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t done = syscall(SYS_write, trace, at, length);
    if (done <= 0) abort();
    at += done;
    length -= done;
  }
}

static void record(enum kind kind, int fd, int error, uint32_t flags, uint64_t offset, const void *data, uint32_t length) {
  struct record r = { kind, fd, error, flags, offset, length, 0 };
  put(&r, sizeof r);
  put(data, length);
}

static void record_paths(enum kind kind, const char *from, const char *to) {
  char both[2 * MAX_PATH];
  int length = snprintf(both, sizeof both, "%s%c%s", from, 0, to ? to : "");
  record(kind, -1, 0, 0, 0, both, length);
}

/* Returns the error number to fail with, 0 for none. */
static int next_fault(const char *op, const char *path) {
  if (fault.times == 0 || strcmp(op, fault.op) != 0) return 0;
  if (ends_with(path, "/acknowledged")) return 0;
  if (strcmp(fault.suffix, "*") != 0 && !ends_with(path, fault.suffix)) return 0;
  if (fault.skip > 0) { fault.skip--; return 0; }
  fault.times--;
  return fault.error;
}

static void set_fault(const char *text, size_t length) {
  char line[256] = { 0 };
  memcpy(line, text, length < sizeof line ? length : sizeof line - 1);
  memset(&fault, 0, sizeof fault);
  if (sscanf(line, "%7s %63s %d %d %d", fault.op, fault.suffix, &fault.skip, &fault.times, &fault.error) != 5) fault.times = 0;
}

static int opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= MAX_FILES) return fd;
  strcpy(paths[fd], path);
  struct stat info;
  int is_folder = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  record(OPEN, fd, is_folder, flags, 0, path, strlen(path));
  return fd;
}

#define OPEN_LIKE(name)                                      \
  int name(const char *path, int flags, ...) {               \
    REAL(name);                                              \
    va_list more;                                            \
    va_start(more, flags);                                   \
    mode_t mode = va_arg(more, mode_t);                      \
    va_end(more);                                            \
    if (!is_recorded(path)) return real(path, flags, mode);  \
    pthread_mutex_lock(&mutex);                              \
    int fd = opened(real(path, flags, mode), path, flags);   \
    int error = errno;                                       \
    pthread_mutex_unlock(&mutex);                            \
    errno = error;                                           \
    return fd;                                               \
  }
OPEN_LIKE(open)
OPEN_LIKE(open64)

int close(int fd) {
  REAL(close);
  if (!path_of(fd)) return real(fd);
  pthread_mutex_lock(&mutex);
  record(CLOSE, fd, 0, 0, 0, "", 0);
  paths[fd][0] = 0;
  int result = real(fd);
  pthread_mutex_unlock(&mutex);
  return result;
}

/* A write that is made to fail leaves the first half of its bytes behind. */
static ssize_t write_at(int fd, const void *data, size_t length, off_t offset) {
  const char *path = path_of(fd);
  if (ends_with(path, "/control")) { set_fault(data, length); return length; }
  int error = next_fault("write", path);
  ssize_t done = syscall(SYS_pwrite64, fd, data, error ? length / 2 : length, offset);
  int failed = done < 0 ? errno : error;
  if (done > 0) record(WRITE, fd, failed, 0, offset, data, done);
  errno = failed;
  return failed ? -1 : done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
  REAL(pwrite64);
  if (!path_of(fd)) return real(fd, data, length, offset);
  pthread_mutex_lock(&mutex);
  ssize_t done = write_at(fd, data, length, offset);
  int error = errno;
  pthread_mutex_unlock(&mutex);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *data, size_t length) {
  REAL(write);
  if (!path_of(fd)) return real(fd, data, length);
  pthread_mutex_lock(&mutex);
  int append = syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND;
  off_t offset = lseek(fd, 0, append ? SEEK_END : SEEK_CUR);
  ssize_t done = write_at(fd, data, length, offset);
  int error = errno;
  if (done > 0) lseek(fd, offset + done, SEEK_SET);
  pthread_mutex_unlock(&mutex);
  errno = error;
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  return path_of(fd) && count > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : real(fd, parts, count);
}

int ftruncate64(int fd, off_t size) {
  REAL(ftruncate64);
  const char *path = path_of(fd);
  if (!path) return real(fd, size);
  pthread_mutex_lock(&mutex);
  int error = next_fault("write", path);
  int result = error ? -1 : real(fd, size);
  if (result != 0 && !error) error = errno;
  record(TRUNCATE, fd, error, 0, size, "", 0);
  pthread_mutex_unlock(&mutex);
  errno = error;
  return result;
}

static int sync_file(int fd) {
  pthread_mutex_lock(&mutex);
  int error = next_fault("sync", path_of(fd));
  record(SYNC, fd, error, 0, 0, "", 0);
  pthread_mutex_unlock(&mutex);
  errno = error;
  return error ? -1 : 0;
}

int fsync(int fd) {
  REAL(fsync);
  return path_of(fd) ? sync_file(fd) : real(fd);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return path_of(fd) ? sync_file(fd) : real(fd);
}

#define RECORD_PATHS(kind, from, to, call)                  \
  if (!is_recorded(from)) return call;                      \
  pthread_mutex_lock(&mutex);                               \
  int result = call;                                        \
  int error = errno;                                        \
  if (result == 0) record_paths(kind, from, to);            \
  pthread_mutex_unlock(&mutex);                             \
  errno = error;                                            \
  return result

int mkdir(const char *path, mode_t mode) { REAL(mkdir); RECORD_PATHS(MAKE_FOLDER, path, NULL, real(path, mode)); }
int unlink(const char *path) { REAL(unlink); RECORD_PATHS(UNLINK, path, NULL, real(path)); }
int rmdir(const char *path) { REAL(rmdir); RECORD_PATHS(UNLINK, path, NULL, real(path)); }
int rename(const char *from, const char *to) { REAL(rename); RECORD_PATHS(RENAME, from, to, real(from, to)); }
int link(const char *from, const char *to) { REAL(link); RECORD_PATHS(LINK, from, to, real(from, to)); }
